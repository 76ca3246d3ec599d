//go:build integration

package integration

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/fence"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/plan"
)

// What the operator waits for, how long, and what it holds meanwhile.
func TestWhatIsWaitedForAndForHowLong(t *testing.T) {
	th := startAPIServer(t)
	t.Run("waits", func(t *testing.T) {
		for name, play := range map[string]func(*stage){
			"a store that is deleted in mid-run ends the run":               storeDeletedInMidRun,
			"a store that is replaced in mid-run does not":                  storeReplaced,
			"a run that has not begun waits for its store":                  storeDeletedInTheQueue,
			"a run that is over keeps no node":                              deadNodeAfterTheRun,
			"a benchmark that went without its finalizer keeps no node":     goneWithoutItsFinalizer,
			"a trouble is said until it is over":                            parkedAgain,
			"a refusal by a policy is tried again before it stalls":         refusedForAMoment,
			"a record and a Lease that somebody deletes are written again":  recordDeleted,
			"a worker whose Lease another benchmark took is discarded":      leaseTaken,
			"a Job that is parked for long is made again":                   parkedForLong,
			"a Pod that looks like a worker's holds up a run for a while":   forgedPodStays,
			"a Pod that somebody keeps holds up a deletion for a while":     podKeptAtDeletion,
			"a Job whose grant somebody deletes is made again":              grantDeleted,
			"a Job that lost the operator's label is said to be in the way": labelTaken,
			"a Job that lost another label is made again":                   otherLabelTaken,
			"a refusal that stays stalls":                                   refusedForGood,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				play(th.stage(t, 1))
			})
		}
	})
}

func (s *stage) seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

func (s *stage) deleteStore() {
	s.t.Helper()
	s.must(s.api.Delete(s.ctx, &v1alpha1.ResultStore{ObjectMeta: metav1.ObjectMeta{Name: s.store}}))
}

func (s *stage) createStore() {
	s.t.Helper()
	s.must(s.api.Create(s.ctx, resultStore(s.store, func(*v1alpha1.ResultStoreSpec) {})))
	s.available(metav1.ConditionTrue, reason.StoreWritable)
}

// holder of the stage's node, or empty.
func (s *stage) holder() string {
	s.t.Helper()
	return (&lab{t: s.t, ctx: s.ctx, namespace: s.namespace, api: s.api}).leaseHolder(s.nodes[0])
}

// says checks the condition Ready, and that its message says all of these.
func (s *stage) says(why string, stalled bool, wants ...string) {
	s.t.Helper()
	b := s.benchmark()
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Reason != why || meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled) != stalled {
		s.t.Fatalf("want %s, stalled %v: %+v", why, stalled, b.Status.Conditions)
	}
	for _, want := range wants {
		if !strings.Contains(c.Message, want) {
			s.t.Errorf("it does not say %q: %s", want, c.Message)
		}
	}
}

// measuring makes a benchmark with tunables whose worker measures.
func (s *stage) measuring() {
	s.t.Helper()
	tuning(func(s *stage) { s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning}) })(s, s.seeded())
	s.settle()
	s.says(reason.Running, false)
}

func storeDeletedInMidRun(s *stage) {
	s.measuring()
	s.deleteStore()
	s.settle()
	s.says(reason.ResultStoreNotFound, false, "the ResultStore "+s.store+" was deleted", "created again")
	s.step(21 * time.Second)
	s.settle()
	s.collect()
	s.settle()
	b := s.benchmark()
	if b.Status.Run.FinishedAt == nil || len(b.Status.Run.Failures) == 0 || b.Status.Run.Failures[0].Reason != reason.ResultStoreNotFound {
		s.t.Fatalf("the run has not ended for its store: %+v", b.Status.Run)
	}
	if !strings.Contains(b.Status.Run.Failures[0].Message, s.store) || !strings.Contains(b.Status.Run.Failures[0].Message, "spec.runID") {
		s.t.Errorf("it names no store or no remedy: %s", b.Status.Run.Failures[0].Message)
	}
	if holder := s.holder(); holder != "" {
		s.t.Errorf("the node is still held by %s", holder)
	}
	record := &v1alpha1.NodeRestore{}
	s.must(s.api.Get(s.ctx, types.NamespacedName{Name: s.nodes[0]}, record))
	if record.Status.Phase != v1alpha1.RestoreRunning {
		s.t.Errorf("the node is not restored: %+v", record.Status)
	}
}

func storeReplaced(s *stage) {
	s.measuring()
	s.deleteStore()
	s.settle()
	s.step(15 * time.Second)
	s.settle()
	s.createStore()
	s.settle()
	s.says(reason.Running, false)
	s.step(time.Minute)
	s.settle()
	s.says(reason.Running, false)
}

func storeDeletedInTheQueue(s *stage) {
	// Another benchmark has the node.
	spec := s.spec(s.seeded())
	s.must(s.api.Create(s.ctx, &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a"}, Spec: spec}))
	s.settle()
	s.create(spec)
	s.settle()
	s.says(reason.Queued, false)
	s.deleteStore()
	s.settle()
	s.step(21 * time.Second)
	s.settle()
	s.says(reason.ResultStoreNotFound, true, s.store, "create it again")
	if run := s.benchmark().Status.Run; run.FinishedAt != nil {
		s.t.Fatalf("a run that has not begun has ended: %+v", run)
	}
	s.must(s.api.Delete(s.ctx, &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a"}}))
	s.settle()
	s.collect()
	s.settle()
	s.createStore()
	s.settle()
	s.says(reason.Starting, false)
}

func deadNodeAfterTheRun(s *stage) {
	running(func(s *stage) { s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning}) })(s, s.seeded())
	s.settle()
	s.allAway()
	s.step(3 * time.Hour)
	s.settle()
	if run := s.benchmark().Status.Run; run.FinishedAt == nil {
		s.t.Fatalf("the run has not ended by its timeout: %+v", run)
	}
	if holder := s.holder(); holder != "" {
		s.t.Errorf("the node is held by a run that is over: %s", holder)
	}
}

func goneWithoutItsFinalizer(s *stage) {
	running(func(*stage) {})(s, s.seeded())
	if s.holder() == "" {
		s.t.Fatal("the node is not held")
	}
	b := s.benchmark()
	b.Finalizers = nil
	s.must(s.api.Update(s.ctx, b))
	s.must(s.api.Delete(s.ctx, b))
	s.caughtUp()
	if _, err := s.bench.Reconcile(s.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b)}); err != nil {
		s.t.Fatal(err)
	}
	if holder := s.holder(); holder != "" {
		s.t.Errorf("the node is held by a benchmark that is gone: %s", holder)
	}
}

func parkedAgain(s *stage) {
	with(func(_ *stage, spec *v1alpha1.StorageBenchmarkSpec) { spec.Targets = spec.Targets[:1] })(s, s.seeded())
	s.settle()
	s.pod(s.job(), s.waiting("ImagePullBackOff"))
	s.settle()
	s.step(50 * time.Second)
	s.settle()
	s.says(reason.ImagePullFailed, true, "not there")
	parked := s.parked()
	for range 3 {
		// Its Pod goes, and after a while there is another one, of which nothing is known.
		s.must(s.api.DeleteAllOf(s.ctx, &corev1.Pod{}, client.InNamespace(s.namespace), client.GracePeriodSeconds(0)))
		s.step(6 * time.Minute)
		for range 3 {
			s.pass()
			s.says(reason.ImagePullFailed, true, "not there")
		}
		if s.parked() == parked {
			s.t.Fatal("it was not tried again")
		}
		s.pod(s.job(), s.waiting("ImagePullBackOff"))
		s.step(50 * time.Second)
		s.settle()
		s.says(reason.ImagePullFailed, true, "not there")
		parked = s.parked()
	}
	s.must(s.api.DeleteAllOf(s.ctx, &corev1.Pod{}, client.InNamespace(s.namespace), client.GracePeriodSeconds(0)))
	s.step(6 * time.Minute)
	s.settle()
	s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning})
	s.settle()
	s.says(reason.Running, false)
}

// parked returns the version of the one Job that is suspended, or empty if it is let go.
func (s *stage) parked() string {
	s.t.Helper()
	list := &batchv1.JobList{}
	s.must(s.api.List(s.ctx, list, client.InNamespace(s.namespace)))
	for i := range list.Items {
		if *list.Items[i].Spec.Suspend {
			return list.Items[i].ResourceVersion
		}
	}
	return ""
}

func refusedForAMoment(s *stage) {
	allowed := s.counter.next
	with(func(s *stage, _ *v1alpha1.StorageBenchmarkSpec) { s.refuse("jobs") })(s, s.seeded())
	s.settle()
	s.says(reason.PodRejected, false, "quota")
	s.counter.next = allowed
	s.step(16 * time.Second)
	s.settle()
	s.says(reason.Starting, false)
	if s.job() == nil {
		s.t.Error("it was not tried again")
	}
}

func refusedForGood(s *stage) {
	with(func(s *stage, _ *v1alpha1.StorageBenchmarkSpec) { s.refuse("jobs") })(s, s.seeded())
	s.settle()
	s.says(reason.PodRejected, false)
	for range 4 {
		s.step(16 * time.Second)
		s.settle()
	}
	s.says(reason.PodRejected, true, "quota")
	if holder := s.holder(); holder != "" {
		s.t.Errorf("the node is held by %s", holder)
	}
}

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
	s.must(s.bench.Leases.Acquire(s.ctx, other, s.nodes[0]))
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

// The policies of config/admission bound the operator's token. Without them it could have any
// program run, and the operator notices that at its start.
func TestTheOperatorNoticesThatItsPoliciesAreMissing(t *testing.T) {
	operator, err := client.New(asOperator(), client.Options{Scheme: api.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	if holds, err := (&fence.Check{Client: operator, Namespace: restoreNamespace}).Holds(t.Context()); !holds || err != nil {
		t.Errorf("behind its policies: holds %v, %v", holds, err)
	}
	th := startAPIServer(t)
	if holds, err := (&fence.Check{Client: th.api, Namespace: restoreNamespace}).Holds(t.Context()); holds || err != nil {
		t.Errorf("without policies: holds %v, %v", holds, err)
	}
	jobs := &batchv1.JobList{}
	if err := th.api.List(context.Background(), jobs); err != nil || len(jobs.Items) > 0 {
		t.Errorf("it has left %d Jobs: %v", len(jobs.Items), err)
	}
	if _, err := (&fence.Check{Client: th.api, Namespace: "missing"}).Holds(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("in a namespace that is not there: %v", err)
	}
}
