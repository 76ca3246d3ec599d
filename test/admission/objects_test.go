//go:build integration

package admission

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/trial"
)

const cleanup = "storagebench.io/cleanup"

var settings = jobspec.Settings{Image: image, ImagePullPolicy: corev1.PullIfNotPresent, ImagePullSecrets: []string{"registry"}}

// worker is a Job as the operator makes it.
func worker(t *testing.T, namespace string, target trial.Target, tunables bool) *batchv1.Job {
	t.Helper()
	target.Name = "fast"
	w := trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	plan := &trial.Plan{
		Benchmark: trial.Benchmark{Namespace: namespace, Name: "flush", UID: "u-1"},
		Run:       "g1-x", Targets: []trial.Target{target}, Workers: []trial.Worker{w},
	}
	if tunables {
		plan.Variants = []trial.Variant{{Name: "v", Tunables: []trial.Tunable{{Name: "block.queue.scheduler", Value: "none"}}}}
	}
	job, err := jobspec.Job(jobspec.Input{
		Settings: settings, Plan: plan, Worker: w, Target: target, Timeout: time.Hour, GrantDigest: "sha256:aa",
		Tolerations: []corev1.Toleration{{Key: "storage", Operator: corev1.TolerationOpExists}},
		Owner: metav1.OwnerReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "StorageBenchmark", Name: "flush", UID: "u-1",
			Controller: new(true), BlockOwnerDeletion: new(true),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

var (
	volume = trial.Target{Source: trial.StorageClass, Ref: "fast", Mode: trial.Filesystem}
	device = trial.Target{Source: trial.BlockDevice, Ref: "/dev/loop7", Mode: trial.Block}
)

func plainWorker(t *testing.T) *batchv1.Job {
	t.Helper()
	return worker(t, plain, volume, false)
}

func restoreInput() jobspec.Restore {
	return jobspec.Restore{
		Settings: settings, Namespace: restoreNamespace, Node: "node-a", Record: "u-2",
		Owner:  []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeRestore", Name: "node-a", UID: "u-2"}},
		Permit: []trial.Tunable{{Name: "block.queue.nomerges", Devices: []string{"loop*"}}},
	}
}

// restore is the Job that puts a node's settings back.
func restore(t *testing.T) *batchv1.Job {
	t.Helper()
	job, err := jobspec.RestoreJob(restoreInput())
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// restorePod is what the operator asks with whether a restore Job's Pod would be admitted.
func restorePod(t *testing.T) *corev1.Pod {
	t.Helper()
	pod, err := jobspec.RestorePod(restoreInput())
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// owner is a worker's Job as the API server has it.
func owner(t *testing.T) *batchv1.Job {
	t.Helper()
	job := plainWorker(t)
	job.UID = "job-1"
	return job
}

func grant(t *testing.T) *corev1.Secret {
	t.Helper()
	secret, err := jobspec.GrantSecret(owner(t), []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func claim(t *testing.T) *corev1.PersistentVolumeClaim {
	t.Helper()
	return jobspec.Claim(owner(t), "fast", resource.MustParse("1Gi"), corev1.ReadWriteOnce, corev1.PersistentVolumeFilesystem)
}

func plan(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	return jobspec.PlanConfigMap(owner(t), []byte("{}"))
}

func benchmark(name string) *v1alpha1.StorageBenchmark {
	return &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: plain, Name: name},
		Spec: v1alpha1.StorageBenchmarkSpec{
			Targets:   []v1alpha1.Target{{Name: "volume", StorageClass: &v1alpha1.StorageClassTarget{Name: "fast"}}},
			Workloads: []v1alpha1.Workload{{Name: "read", Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(map[string]string{"rw": "read"})}}},
			Results:   &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: "default"}},
		},
	}
}

// runDocument is the name of a document of a run that has no ResultStore.
const runDocument = "storagebench-document-0123456789abcdef0123456789abcdef"

// inOperators makes a ConfigMap one in the operator's namespace that nobody owns.
func inOperators(name string) func(*corev1.ConfigMap) {
	return func(c *corev1.ConfigMap) { c.Namespace, c.Name, c.OwnerReferences = operatorNamespace, name, nil }
}
