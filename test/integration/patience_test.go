//go:build integration

package integration

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
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
	"storagebench.io/storagebench/test/wait"
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

// The policies of config/admission bound the operator's token. Without them it could have any
// program run, and the operator notices that at its start.
func TestTheOperatorNoticesThatItsPoliciesAreMissing(t *testing.T) {
	operator, err := client.New(asOperator(), client.Options{Scheme: api.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	// An API server that has just started takes a moment to compile them.
	wait.Patience{Every: 100 * time.Millisecond, AtMost: time.Minute}.For(t, "the policies hold", func() error {
		holds, err := (&fence.Check{Client: operator, Namespace: restoreNamespace}).Holds(t.Context())
		if err == nil && !holds {
			err = errors.New("it may create a Job of another program")
		}
		return err
	})
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
