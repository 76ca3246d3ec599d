package benchmark

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/admission"
	"storagebench.io/storagebench/controllers/leases"
	"storagebench.io/storagebench/controllers/results"
	"storagebench.io/storagebench/controllers/workers"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/trial"
)

type indexer func(client.Object, string, client.IndexerFunc)

func (f indexer) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	f(o, field, extract)
	return nil
}

// wedged is a reconciler of a benchmark that holds a node and has a Job which cannot be deleted.
func wedged(t *testing.T) (*Reconciler, *pass, *clocktesting.FakePassiveClock, func() int) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))
	b := withJobFile(3)
	b.Status.Run = &v1alpha1.RunStatus{ID: "r", StartedAt: new(metav1.NewTime(clock.Now()))}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: b.Namespace, Name: "j", UID: "ju", Finalizers: []string{"attacker.example/hold"},
		Labels:          map[string]string{jobspec.LabelManagedBy: jobspec.ManagedBy, jobspec.LabelBenchmark: b.Name, jobspec.LabelRun: "r", jobspec.LabelWorker: "t.n1"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("StorageBenchmark"))},
	}}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(b, job).WithStatusSubresource(b)
	for _, index := range []func(context.Context, client.FieldIndexer) error{leases.Index, Index} {
		if err := index(t.Context(), indexer(func(o client.Object, field string, f client.IndexerFunc) { builder.WithIndex(o, field, f) })); err != nil {
			t.Fatal(err)
		}
	}
	c := builder.WithInterceptorFuncs(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
		if _, ok := o.(*batchv1.Job); ok { // what the API server answers: the deletionTimestamp does not fit
			return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "etcdserver: request is too large"}}
		}
		return c.Delete(ctx, o, options...)
	}}).Build()
	l := &leases.Leases{Client: c, Namespace: "system", Clock: clock}
	if err := l.Acquire(t.Context(), b, "n1", time.Hour); err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Client: c, Live: c, Leases: l, Workers: &workers.Workers{Client: c, Live: c, Clock: clock}, Clock: clock}
	held := func() int {
		list := &coordinationv1.LeaseList{}
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	return r, &pass{StorageBenchmark: b, before: b.DeepCopy()}, clock, held
}

// A tenant adds a finalizer to the worker's Job and fills it with labels up to the limit of etcd: it can
// no longer be deleted, as that writes a deletionTimestamp. That must not hold the node for ever.
func TestAJobThatCannotBeDeletedDoesNotHoldItsNode(t *testing.T) {
	r, p, clock, held := wedged(t)
	var err error
	for range 10 {
		_, err = r.clear(t.Context(), p)
		clock.SetTime(clock.Now().Add(removalPatience))
	}
	if held() > 0 {
		t.Errorf("after %s the benchmark still holds its node: %v", 10*removalPatience, err)
	}
}

// A changed timeout starts no run, so that nothing checks it against the operator's limit again.
func TestATimeoutThatIsRaisedInMidRunIsBounded(t *testing.T) {
	r, p, clock, _ := wedged(t)
	r.Limits = admission.Limits{Timeout: 24 * time.Hour}
	p.Status.Run.SpecHash, p.Status.Run.Generation = SpecHash(p.StorageBenchmark), p.Generation
	p.Spec.Timeout = &metav1.Duration{Duration: 144 * time.Hour}
	p.Generation++
	if !p.unchanged() {
		t.Error("a timeout that is raised starts another run")
	}
	p.Status.Run.ActiveSince = new(metav1.NewTime(clock.Now()))
	clock.SetTime(clock.Now().Add(100 * time.Hour))
	s := &scene{plan: results.Plan{Plan: &trial.Plan{Run: "r"}}}
	if err := r.observeWorkers(t.Context(), p, s); err != nil {
		t.Fatal(err)
	}
	if s.world.Timeout > r.Limits.Timeout {
		t.Errorf("the run may be active for %s, and the operator's limit is %s", s.world.Timeout, r.Limits.Timeout)
	}
}
