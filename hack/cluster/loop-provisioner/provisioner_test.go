package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

func options(size string, mode corev1.PersistentVolumeMode, access corev1.PersistentVolumeAccessMode, parameters map[string]string) controller.ProvisionOptions {
	return controller.ProvisionOptions{
		PVName:           "pvc-1",
		SelectedNodeName: "node-a",
		StorageClass:     &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}, Parameters: parameters},
		PVC: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			VolumeMode:  &mode,
			AccessModes: []corev1.PersistentVolumeAccessMode{access},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		}},
	}
}

func TestParse(t *testing.T) {
	xfs := map[string]string{"fsType": "xfs"}
	tests := map[string]struct {
		options controller.ProvisionOptions
		want    volume
		wantErr string
	}{
		"ext4 is the default": {
			options: options("1Gi", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce, nil),
			want:    volume{name: "pvc-1", node: "node-a", bytes: 1 << 30, fsType: "ext4"},
		},
		"a size is rounded up to whole mebibytes": {
			options: options("100M", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce, nil),
			want:    volume{name: "pvc-1", node: "node-a", bytes: 96 << 20, fsType: "ext4"},
		},
		"a raw device has no file system, whatever the class says": {
			options: options("10Mi", corev1.PersistentVolumeBlock, corev1.ReadWriteOncePod, xfs),
			want:    volume{name: "pvc-1", node: "node-a", bytes: 10 << 20},
		},
		"preallocate": {
			options: options("1Gi", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce, map[string]string{"preallocate": "true"}),
			want:    volume{name: "pvc-1", node: "node-a", bytes: 1 << 30, fsType: "ext4", preallocate: true},
		},
		"less than mkfs.xfs takes is refused with the least size": {
			options: options("299Mi", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce, xfs),
			wantErr: "needs at least 300Mi",
		},
		"a volume on several nodes is refused": {
			options: options("1Gi", corev1.PersistentVolumeFilesystem, corev1.ReadWriteMany, nil),
			wantErr: "accessModes must be ReadWriteOnce",
		},
		"an unknown parameter is refused, not ignored": {
			options: options("1Gi", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce, map[string]string{"fstype": "xfs"}),
			wantErr: "known are fsType",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parse(test.options)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("got error %v, want one with %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestParseNeedsANode(t *testing.T) {
	o := options("1Gi", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce, nil)
	o.SelectedNodeName = ""
	if _, err := parse(o); err == nil || !strings.Contains(err.Error(), "WaitForFirstConsumer") {
		t.Errorf("got error %v, want one that names the binding mode", err)
	}
}

func TestVolumeIsPinnedToItsNode(t *testing.T) {
	o := options("1Gi", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce, nil)
	policy := corev1.PersistentVolumeReclaimDelete
	o.StorageClass.ReclaimPolicy = &policy
	v, err := parse(o)
	if err != nil {
		t.Fatal(err)
	}
	pv := persistentVolume(v, "/dev/loop9", o)
	if node, err := nodeOf(pv); err != nil || node != "node-a" {
		t.Errorf("the volume is on %q (%v), want node-a: Delete would look for its file elsewhere", node, err)
	}
	if _, err := nodeOf(&corev1.PersistentVolume{}); err == nil {
		t.Error("a volume without a node was accepted")
	}
}

func TestFileStaysInItsDirectory(t *testing.T) {
	l := newLoops("/volumes")
	for _, name := range []string{"", "..", "../x", "a/b"} {
		if file, err := l.file("node-a", name); err == nil {
			t.Errorf("the volume %q became the file %s, want an error", name, file)
		}
	}
}
