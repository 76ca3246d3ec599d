//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/test/cluster"
)

// says checks that a message names all of these.
func says(t *testing.T, message string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(message, want) {
			t.Errorf("the message does not say %q: %s", want, message)
		}
	}
}

func TestATargetThatIsTooSmall(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	b := l.benchmark("small", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Workloads = append(s.Workloads, fio("huge", map[string]string{"rw": "write", "size": "2GiB"}))
	})
	c := l.ended(b, reason.TargetTooSmall)
	says(t, c.Message, "spec.targets[ext4].storageClass.size", "2 GiB")
	if len(b.Status.Summary) != 1 || b.Status.Summary[0].Trials != 3 {
		t.Errorf("what the other workload measured is lost: %+v", b.Status.Summary)
	}
	l.nothingLeft()
}

func TestAnEngineThatTheSeccompProfileRefuses(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	b := l.benchmark("uring", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Workloads[0].Fio.Parameters["ioengine"] = v1alpha1.Text("io_uring")
	})
	c := l.ended(b, reason.EngineRefused)
	says(t, c.Message, "spec.workloads[mixed].fio", "io_uring", "libaio")
	l.nothingLeft()
}

func TestAVolumeThatCannotBeMade(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	b := l.benchmark("unmade", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{volume("xfs", "loop-xfs", corev1.PersistentVolumeFilesystem)}
		s.Targets[0].StorageClass.Size = new(resource.MustParse("64Mi")) // xfs needs 300
	})
	c := l.await(b, reason.VolumeNotReady)
	says(t, c.Message, "PersistentVolumeClaim", "300", "StorageClass")
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.nothingLeft()
}

func TestANamespaceThatHasNoRoomForThePod(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: quantity("0")}},
	}
	if err := api.Create(l.ctx, quota); err != nil {
		t.Fatal(err)
	}
	b := l.benchmark("crowded", func(*v1alpha1.StorageBenchmarkSpec) {})
	says(t, l.await(b, reason.PodRejected).Message, "exceeded quota: none", "quota")
	if err := api.Delete(l.ctx, quota); err != nil {
		t.Fatal(err)
	}
	// The Job controller tries again by itself.
	l.ended(b, reason.Finished)
	l.nothingLeft()
}

func TestAPlanThatSomebodyReplacesIsNotRun(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	b := l.benchmark("tampered", func(s *v1alpha1.StorageBenchmarkSpec) { s.Trials.Min = 30 })
	l.measuring(b, l.worker("ext4"), 1)
	plans := &corev1.ConfigMapList{}
	if err := api.List(l.ctx, plans, client.InNamespace(l.namespace), client.MatchingLabels{jobspec.LabelBenchmark: b.Name}); err != nil || len(plans.Items) != 1 {
		t.Fatalf("%v: %d plans", err, len(plans.Items))
	}
	other := plans.Items[0].DeepCopy()
	other.ResourceVersion, other.UID = "", ""
	other.Data["plan.json"] = strings.Replace(other.Data["plan.json"], "32MiB", "64MiB", 1)
	if err := api.Delete(l.ctx, &plans.Items[0]); err != nil {
		t.Fatal(err)
	}
	if err := api.Create(l.ctx, other); err != nil {
		t.Fatal(err)
	}
	l.kill(l.namespace, map[string]string{jobspec.LabelBenchmark: b.Name}) // the next Pod reads it
	c := l.ended(b, reason.PlanTampered)
	says(t, c.Message, "digest", "ConfigMap")
	if len(b.Status.Summary) != 1 || b.Status.Summary[0].Trials < 1 {
		t.Errorf("what was measured before is lost: %+v", b.Status)
	}
	l.nothingLeft()
}

func TestAVolumeThatFillsUpInMidRun(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "shared"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new("loop-ext4"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: quantity("256Mi")}},
		},
	}
	if err := api.Create(l.ctx, claim); err != nil {
		t.Fatal(err)
	}
	b := l.benchmark("filling", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{{Name: "ext4", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "shared", FSGroup: new(int64(65532))}}}
		s.Workloads = []v1alpha1.Workload{fio("append", map[string]string{
			"rw": "write", "bs": "64k", "size": "100MiB", "rate": "60m", "fallocate": "none", "unlink": "1", "direct": "1", "loops": "1",
		})}
		s.Trials.Min = 40
	})
	worker := l.measuring(b, l.worker("ext4"), 1)
	filler := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "filler"},
		Spec: corev1.PodSpec{
			NodeName: worker.Spec.NodeName, RestartPolicy: corev1.RestartPolicyOnFailure, SecurityContext: worker.Spec.SecurityContext,
			Containers: []corev1.Container{{
				Name: "filler", Image: worker.Spec.Containers[0].Image, SecurityContext: worker.Spec.Containers[0].SecurityContext,
				Command:      []string{"/usr/bin/dd", "if=/dev/zero", "of=/data/filler", "bs=1M", "count=200"},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"}}}},
		},
	}
	if err := api.Create(l.ctx, filler); err != nil {
		t.Fatal(err)
	}
	c := l.ended(b, reason.NoSpace)
	says(t, c.Message, "spec.targets[ext4]")
	if len(b.Status.Summary) != 1 || b.Status.Summary[0].Trials < 1 || len(l.trials(b, l.worker("ext4"))) < 2 {
		t.Errorf("what was measured before is lost: %+v", b.Status)
	}
	for _, o := range []client.Object{filler, claim} {
		if err := api.Delete(l.ctx, o, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	}
	l.nothingLeft()
}

// hostTargets is what the chart's values of the local cluster allow.
const hostTargets = "/var/lib/storagebench/targets"

func TestADirectoryOfTheNode(t *testing.T) {
	t.Parallel()
	target := func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{{Name: "dir", HostPath: &v1alpha1.HostPathTarget{Path: hostTargets + "/e2e"}}}
	}
	forbidden := newLab(t, "baseline")
	b := forbidden.benchmark("dir", target)
	says(t, forbidden.await(b, reason.PodSecurityForbids).Message, "pod-security.kubernetes.io/enforce=privileged")

	l := forbidden.beside("privileged")
	l.onNode("ls", "/host") // makes the allowed directory, which a new node has not
	missing := l.benchmark("missing", target)
	says(t, l.ended(missing, reason.TargetUnusable).Message, "spec.targets[dir].hostPath.path", hostTargets+"/e2e", "does not exist on the node")
	if err := api.Delete(l.ctx, missing); err != nil {
		t.Fatal(err)
	}
	l.onNode("mkdir", "/host/e2e")
	b = l.benchmark("dir", target)
	l.ended(b, reason.Finished)
	l.onNode("rmdir", "/host/e2e") // it is as empty as it was
	l.nothingLeft()
}

// onNode runs a program on the lab's node, as root, with hostTargets at /host.
func (l *lab) onNode(program string, args ...string) {
	l.t.Helper()
	operator := &corev1.PodList{}
	if err := api.List(l.ctx, operator, client.InNamespace(operatorNamespace)); err != nil || len(operator.Items) == 0 {
		l.t.Fatalf("no operator: %v", err)
	}
	image, err := cluster.WorkerImage(operator.Items[0].Spec)
	if err != nil {
		l.t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: program},
		Spec: corev1.PodSpec{
			NodeName: l.node, RestartPolicy: corev1.RestartPolicyNever,
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(0))},
			Containers: []corev1.Container{{
				Name: "admin", Image: image, Command: append([]string{"/usr/bin/" + program}, args...),
				VolumeMounts: []corev1.VolumeMount{{Name: "host", MountPath: "/host"}},
			}},
			Volumes: []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: hostTargets, Type: new(corev1.HostPathDirectoryOrCreate),
			}}}},
		},
	}
	if err := api.Create(l.ctx, pod); err != nil {
		l.t.Fatal(err)
	}
	l.eventually(program+" has run", func() error {
		err := api.Get(l.ctx, client.ObjectKeyFromObject(pod), pod)
		if pod.Status.Phase == corev1.PodFailed {
			l.t.Fatalf("%s %v failed: %+v", program, args, pod.Status)
		}
		if err == nil && pod.Status.Phase != corev1.PodSucceeded {
			err = fmt.Errorf("%s", pod.Status.Phase)
		}
		return err
	})
	if err := api.Delete(l.ctx, pod, client.GracePeriodSeconds(0)); err != nil {
		l.t.Fatal(err)
	}
}

func TestADeviceOfTheNodeIsNotOverwrittenWhileItHoldsAFileSystem(t *testing.T) {
	t.Parallel()
	device := devicetest.Loop(t, 256<<20)
	run(t, "mkfs.ext4", "-q", device)
	l := newLab(t, "privileged")
	target := func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{{Name: "disk", BlockDevice: &v1alpha1.BlockDeviceTarget{Path: device, AllowDataDestruction: true}}}
	}
	b := l.benchmark("held", target)
	c := l.ended(b, reason.TargetHoldsData)
	says(t, c.Message, "spec.targets[disk].blockDevice", "ext4", "wipefs")
	run(t, "e2fsck", "-fn", device) // it is as it was

	// Without its signature it still holds somebody's data, until it is zeros.
	run(t, "wipefs", "-qa", device)
	b = l.benchmark("signless", target)
	says(t, l.ended(b, reason.TargetHoldsData).Message, "spec.targets[disk].blockDevice", "zeros")
	run(t, "blkdiscard", "--zeroout", device)
	b = l.benchmark("free", target)
	l.ended(b, reason.Finished)
	l.nothingLeft()
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	// Also after the test's own context has ended: some tidy up with it.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		t.Fatal(fmt.Errorf("%s %v: %w: %s", program, args, err, out))
	}
	return string(out)
}
