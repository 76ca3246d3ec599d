//go:build integration

package integration

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/plan"
)

func recordDeleted(s *stage) {
	s.measuring()
	was := &v1alpha1.NodeRestore{}
	s.must(s.api.Get(s.ctx, types.NamespacedName{Name: s.nodes[0]}, was))
	s.must(s.api.Delete(s.ctx, was))
	s.must(s.api.DeleteAllOf(s.ctx, &coordinationv1.Lease{}, client.InNamespace(operatorNamespace), client.MatchingFields{"metadata.name": "node-" + s.nodes[0]}))
	s.settle()
	now := &v1alpha1.NodeRestore{}
	s.must(s.api.Get(s.ctx, types.NamespacedName{Name: s.nodes[0]}, now))
	if now.Spec.Job != was.Spec.Job || len(now.Spec.Settings) != len(was.Spec.Settings) {
		s.t.Errorf("the record was %+v and is %+v", was.Spec, now.Spec)
	}
	if s.holder() == "" {
		s.t.Error("the node is free while its worker measures")
	}
	s.says(reason.Running, false)
}

func leaseTaken(s *stage) {
	running(func(s *stage) { s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning}) })(s, s.seeded())
	s.settle()
	s.says(reason.Running, false)
	// Another one waits for the node, and has it before the operator looks at the first again.
	other := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "c"}, Spec: s.spec(s.seeded())}
	s.must(s.api.Create(s.ctx, other))
	s.settle()
	s.must(s.api.DeleteAllOf(s.ctx, &coordinationv1.Lease{}, client.InNamespace(operatorNamespace), client.MatchingFields{"metadata.name": "node-" + s.nodes[0]}))
	s.caughtUp()
	s.must(s.api.Get(s.ctx, client.ObjectKeyFromObject(other), other))
	s.must(s.bench.Leases.Acquire(s.ctx, other, s.nodes[0], time.Hour))
	s.settle()
	s.collect()
	s.settle()
	s.says(reason.Queued, false, "c")
	jobs := &batchv1.JobList{}
	s.must(s.api.List(s.ctx, jobs, client.InNamespace(s.namespace)))
	if len(jobs.Items) != 1 || jobs.Items[0].Labels[jobspec.LabelBenchmark] != "c" {
		s.t.Errorf("two measure the node at once: %d Jobs", len(jobs.Items))
	}
}

func parkedForLong(s *stage) {
	with(func(_ *stage, spec *v1alpha1.StorageBenchmarkSpec) { spec.Targets = spec.Targets[:1] })(s, s.seeded())
	s.settle()
	first := s.job()
	s.pod(first, s.waiting("ImagePullBackOff"))
	s.settle()
	s.step(50 * time.Second)
	s.settle()
	if s.parked() == "" {
		s.t.Fatal("it is not parked")
	}
	s.must(s.api.DeleteAllOf(s.ctx, &corev1.Pod{}, client.InNamespace(s.namespace), client.GracePeriodSeconds(0)))
	s.step(31 * time.Minute)
	for range 2 {
		s.settle()
		s.collect()
		s.step(6 * time.Minute)
	}
	s.settle()
	if again := s.job(); again.UID == first.UID {
		s.t.Errorf("its grant may expire while it measures: %+v", s.benchmark().Status.Conditions)
	}
}

// forgedPodStays plays a tenant who keeps a Pod with the labels of the next run's worker, owned
// by a Job of the tenant's.
func forgedPodStays(s *stage) {
	with(func(_ *stage, spec *v1alpha1.StorageBenchmarkSpec) { spec.Suspend = true })(s, s.seeded())
	s.settle()
	s.says(reason.Suspended, false)
	b := s.benchmark()
	container := corev1.Container{Name: "worker", Image: "busybox"}
	keeper := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "keeper"}, Spec: batchv1.JobSpec{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container}, RestartPolicy: corev1.RestartPolicyNever}},
	}}
	s.must(s.api.Create(s.ctx, keeper))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: "forged", OwnerReferences: []metav1.OwnerReference{jobspec.JobOwner(keeper)},
			Labels: map[string]string{
				jobspec.LabelManagedBy: jobspec.ManagedBy, jobspec.LabelBenchmark: b.Name,
				jobspec.LabelRun: plan.RunID(b), jobspec.LabelWorker: b.Spec.Targets[0].Name + "." + s.nodes[0],
			},
		},
		Spec: corev1.PodSpec{NodeName: s.nodes[0], Containers: []corev1.Container{container}},
	}
	s.must(s.api.Create(s.ctx, pod))
	pod.Status.Phase = corev1.PodRunning
	s.must(s.api.Status().Update(s.ctx, pod))
	s.change(func(spec *v1alpha1.StorageBenchmarkSpec) { spec.Suspend = false })
	s.settle()
	s.says(reason.Pending, false, "Pod forged on node "+s.nodes[0])
	s.step(removal)
	s.settle()
	s.step(removal)
	s.settle()
	s.says(reason.Starting, false)
	if s.job() == nil {
		s.t.Error("the worker does not start")
	}
}

func podKeptAtDeletion(s *stage) {
	running(func(s *stage) { s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning}) })(s, s.seeded())
	s.settle()
	s.must(s.api.Delete(s.ctx, s.benchmark()))
	s.settle() // nobody plays the garbage collector, so the Pod stays
	s.says(reason.Deleting, false, "on node "+s.nodes[0])
	s.step(removal)
	s.settle()
	if err := s.api.Get(s.ctx, types.NamespacedName{Namespace: s.namespace, Name: "b"}, &v1alpha1.StorageBenchmark{}); !apierrors.IsNotFound(err) {
		s.t.Errorf("the benchmark is still there: %v", err)
	}
	if holder := s.holder(); holder != "" {
		s.t.Errorf("the node is still held by %s", holder)
	}
}

// removal is a little longer than what is left of a run is waited for.
const removal = 2*time.Minute + time.Second

func grantDeleted(s *stage) {
	running(func(*stage) {})(s, s.seeded())
	job := s.job()
	pod := s.pod(job, corev1.PodStatus{Phase: corev1.PodPending})
	s.must(s.api.Create(s.ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: s.namespace, Name: "mount"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: s.namespace, Name: pod.Name, UID: pod.UID},
		Type:           corev1.EventTypeWarning, Reason: "FailedMount", LastTimestamp: metav1.NewTime(s.clock.Now()),
		Message: "MountVolume.SetUp failed for volume \"grant\" : secret \"" + job.Name + "\" not found",
	}))
	s.step(15 * time.Second)
	s.settle()
	s.collect()
	s.settle()
	if again := s.job(); again.UID == job.UID {
		s.t.Errorf("the Job was not made again: %+v", s.benchmark().Status.Conditions)
	}
}

// relabel plays a tenant who takes a label off the Job of the worker.
func (s *stage) relabel(label string) *batchv1.Job {
	s.t.Helper()
	with(func(_ *stage, spec *v1alpha1.StorageBenchmarkSpec) { spec.Targets = spec.Targets[:1] })(s, s.seeded())
	s.settle()
	job := s.job()
	delete(job.Labels, label)
	s.must(s.api.Update(s.ctx, job))
	patience.For(s.t, "the cache has the Job without its label", func() error {
		cached := &batchv1.Job{}
		err := s.cache.Get(s.ctx, client.ObjectKeyFromObject(job), cached)
		if apierrors.IsNotFound(err) || err == nil && cached.Labels[label] == "" {
			return nil
		}
		return errNotYet(err)
	})
	return job
}

func labelTaken(s *stage) {
	job := s.relabel(jobspec.LabelManagedBy)
	s.settle()
	s.step(3 * time.Minute)
	s.settle()
	s.step(time.Minute)
	s.settle()
	s.says(reason.PodRejected, true, job.Name, jobspec.LabelManagedBy, "delete the Job")
	s.removeJob(job)
	s.collect()
	s.step(6 * time.Minute)
	s.settle()
	s.says(reason.Starting, false)
}

func otherLabelTaken(s *stage) {
	job := s.relabel(jobspec.LabelRun)
	for range 3 { // its claim is waited for, then it is found to be in the way
		s.settle()
		s.collect()
		s.step(3 * time.Minute)
	}
	s.settle()
	if again := s.job(); again.UID == job.UID {
		s.t.Errorf("the Job was not made again: %+v", s.benchmark().Status.Conditions)
	}
}
