package controllers

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/internal/jobspec"
)

var noon = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))

// full is metadata with all that the API server writes, and what the controllers read of it.
func full() (meta, kept metav1.ObjectMeta) {
	kept = metav1.ObjectMeta{
		Name: "x", Namespace: "lab", UID: "u", ResourceVersion: "7", Generation: 3, CreationTimestamp: noon, DeletionTimestamp: &noon, Finalizers: []string{"f"},
		Labels:          map[string]string{jobspec.LabelWorker: "t.n1"},
		Annotations:     map[string]string{jobspec.AnnotationComplete: "true"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "j", UID: "ju", Controller: new(true)}},
	}
	meta = *kept.DeepCopy()
	meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	meta.Annotations[corev1.LastAppliedConfigAnnotation] = "{}"
	meta.GenerateName = "x-"
	meta.OwnerReferences = append(meta.OwnerReferences, metav1.OwnerReference{Kind: "ConfigMap", Name: "no controller", UID: "c"})
	return meta, kept
}

// What is read of an object survives the cache, and nothing else does.
func TestTheCacheKeepsWhatIsRead(t *testing.T) {
	meta, kept := full()
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: noon}
	beat := ready
	beat.LastHeartbeatTime = noon
	nodeMeta := *kept.DeepCopy()
	nodeMeta.Annotations = nil // and a namespace's
	affinity := &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}}
	podStatus := corev1.PodStatus{
		Phase: corev1.PodFailed, StartTime: &noon, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Message: "0/1"}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "receipt"}}}},
	}
	more := *podStatus.DeepCopy()
	more.HostIP, more.QOSClass = "10.0.0.1", corev1.PodQOSBurstable
	jobStatus := batchv1.JobStatus{StartTime: &noon, Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}}
	for name, c := range map[string]struct{ in, want client.Object }{
		"a Job": {
			&batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Suspend: new(true), ActiveDeadlineSeconds: new(int64(180)), BackoffLimit: new(int32(6)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeName: "n"}}}, Status: jobStatus},
			&batchv1.Job{ObjectMeta: kept, Spec: batchv1.JobSpec{Suspend: new(true), ActiveDeadlineSeconds: new(int64(180))}, Status: jobStatus},
		},
		"a Pod": {
			&corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: "n1", Volumes: []corev1.Volume{{Name: "v"}}, Containers: []corev1.Container{{Name: "worker", Image: "storagebench:1", Args: []string{"worker"}}}}, Status: more},
			&corev1.Pod{ObjectMeta: kept, Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "worker", Image: "storagebench:1"}}}, Status: podStatus},
		},
		"a claim": {
			&corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("fast"), VolumeName: "pv", VolumeMode: new(corev1.PersistentVolumeBlock), Selector: &metav1.LabelSelector{}}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{}}},
			&corev1.PersistentVolumeClaim{ObjectMeta: kept, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("fast"), VolumeName: "pv", VolumeMode: new(corev1.PersistentVolumeBlock)}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}},
		},
		"a volume": {
			&corev1.PersistentVolume{ObjectMeta: meta, Spec: corev1.PersistentVolumeSpec{NodeAffinity: affinity, StorageClassName: "fast"}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound}},
			&corev1.PersistentVolume{ObjectMeta: kept, Spec: corev1.PersistentVolumeSpec{NodeAffinity: affinity}},
		},
		"a node": {
			&corev1.Node{ObjectMeta: meta, Spec: corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{{Key: "k"}}, PodCIDR: "10.0.0.0/24"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeDiskPressure}, beat}, Images: []corev1.ContainerImage{{SizeBytes: 1}}}},
			&corev1.Node{ObjectMeta: nodeMeta, Spec: corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{{Key: "k"}}}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}}},
		},
		"a namespace": {&corev1.Namespace{ObjectMeta: meta}, &corev1.Namespace{ObjectMeta: nodeMeta}},
	} {
		t.Run(name, func(t *testing.T) {
			transform := transformOf(t, c.in)
			got, err := transform(c.in.DeepCopyObject())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			again, err := transform(got.(runtime.Object).DeepCopyObject())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("a second time (-first +second):\n%s", diff)
			}
			tombstone := toolscache.DeletedFinalStateUnknown{Key: "lab/x"}
			if out, err := transform(tombstone); err != nil || out != any(tombstone) {
				t.Errorf("what is no object: %v, %v", out, err)
			}
		})
	}
}

// transformOf is what the cache does with objects of a kind.
func transformOf(t *testing.T, object client.Object) toolscache.TransformFunc {
	t.Helper()
	for kind, by := range Cache(Options{Namespace: "op", RestoreNamespace: "op-restore"}).ByObject {
		if reflect.TypeOf(kind) == reflect.TypeOf(object) && by.Transform != nil {
			return by.Transform
		}
	}
	t.Fatalf("%T is not trimmed", object)
	return nil
}

// An operator that looks after some namespaces sees the restore Jobs all the same, which are
// in a namespace of their own.
func TestTheCacheOfSomeNamespacesHasTheRestoreJobs(t *testing.T) {
	for kind, by := range Cache(Options{Namespace: "op", RestoreNamespace: "op-restore", Namespaces: []string{"a", "b"}}).ByObject {
		var want []string
		switch kind.(type) {
		case *batchv1.Job, *corev1.Pod:
			want = []string{"a", "b", "op-restore"}
		default:
			continue
		}
		for _, name := range want {
			if _, ok := by.Namespaces[name]; !ok {
				t.Errorf("%T: namespace %s is not watched", kind, name)
			}
		}
		if len(by.Namespaces) != len(want) {
			t.Errorf("%T: %d namespaces, want %d", kind, len(by.Namespaces), len(want))
		}
	}
	if _, ok := Cache(Options{Namespaces: []string{"a"}}).DefaultNamespaces["a"]; !ok {
		t.Error("benchmarks are looked for everywhere")
	}
}
