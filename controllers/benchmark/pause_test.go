package benchmark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/admission"
	"storagebench.io/storagebench/controllers/leases"
	"storagebench.io/storagebench/controllers/restore"
	"storagebench.io/storagebench/controllers/results"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/controllers/workers"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/store/inbox"
	"storagebench.io/storagebench/internal/trial"
)

// anything is an engine that takes any configuration.
type anything struct{ plan.Checker }

func (anything) Check(string, json.RawMessage, trial.Mode) error             { return nil }
func (anything) Memory(string, json.RawMessage, trial.Mode) (uint64, string) { return 0, "" }
func (anything) UsualMemory() uint64                                         { return 1 << 30 }
func (anything) Duration(string, json.RawMessage) time.Duration              { return time.Second }
func (anything) Pace(string, json.RawMessage) string                         { return "" }

// plans counts the documents that are saved in the cluster.
type plans struct{ saved int }

func (*plans) Load(context.Context) (map[string][]byte, error)       { return nil, nil }
func (p *plans) Save(context.Context, string, []byte) error          { p.saved++; return nil }
func (*plans) Delete(context.Context, string) error                  { return nil }
func (*plans) identity(context.Context) (id inbox.Identity, _ error) { return id, nil }

// rerunning is a benchmark without a ResultStore, and its reconciler, which gets no further than its plan.
type rerunning struct {
	*Reconciler
	t     *testing.T
	clock *clocktesting.FakePassiveClock
	plans plans
	again time.Duration
}

func newRerunning(t *testing.T) *rerunning {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := withJobFile(3)
	b.Finalizers = []string{Finalizer}
	b.Spec.Trials.Min = 1
	objects := []client.Object{
		b, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.Namespace}},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "csi.example"},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelHostname: "n1"}}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}},
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(b)
	for _, index := range []func(context.Context, client.FieldIndexer) error{leases.Index, restore.Index, Index} {
		if err := index(t.Context(), indexer(func(o client.Object, field string, f client.IndexerFunc) { builder.WithIndex(o, field, f) })); err != nil {
			t.Fatal(err)
		}
	}
	c := builder.Build()
	w := &rerunning{t: t, clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))}
	in := &inbox.Inbox{URL: "https://127.0.0.1", Backing: &w.plans, Now: w.clock.Now, Identity: w.plans.identity}
	w.Reconciler = &Reconciler{
		Client: c, Live: c, Clock: w.clock, Events: events.NewFakeRecorder(1000), Rules: admission.Rules{Engines: anything{}},
		Leases: &leases.Leases{Client: c, Namespace: "system", Clock: w.clock}, Workers: &workers.Workers{Client: c, Live: c, Clock: w.clock},
		Records: &restore.Records{Client: c}, Results: &results.Results{Buckets: &stores.Buckets{Inbox: in}, Clock: w.clock},
	}
	return w
}

// pass makes passes until one records a run or waits for time to pass.
func (w *rerunning) pass() *v1alpha1.StorageBenchmark {
	w.t.Helper()
	before := w.plans.saved
	b := withJobFile(3)
	for range 5 {
		got, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		if err != nil {
			w.t.Fatal(err)
		}
		if w.again = got.RequeueAfter; w.plans.saved > before || w.again >= time.Second {
			break
		}
	}
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
		w.t.Fatal(err)
	}
	return b
}

// ask asks for another run.
func (w *rerunning) ask(n int) {
	w.t.Helper()
	b := withJobFile(3)
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
		w.t.Fatal(err)
	}
	if n%2 == 0 {
		b.Spec.RunID = fmt.Sprint("again", n)
		b.Generation++ // as the API server does
	} else {
		b.Annotations = map[string]string{v1alpha1.AnnotationRerun: fmt.Sprint(n)}
	}
	if err := w.Update(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
}

// A tenant changes spec.runID, or an annotation, as fast as the API server takes it: each time, half a MiB would be
// written to etcd.
func TestAChangeOfAFewBytesDoesNotStoreAPlanEachTime(t *testing.T) {
	w := newRerunning(t)
	if b := w.pass(); w.plans.saved != 1 || b.Status.Run == nil {
		t.Fatalf("the first run waits: %+v", b.Status)
	}
	for i := range 20 {
		w.clock.SetTime(w.clock.Now().Add(50 * time.Millisecond))
		w.ask(i)
		b := w.pass()
		if c := b.Status.Conditions; w.plans.saved > 2 || w.again > betweenRuns || len(c) == 0 {
			t.Fatalf("change %d: %d plans, again in %s, %+v", i, w.plans.saved, w.again, c)
		}
		for _, c := range b.Status.Conditions {
			if c.Type == v1alpha1.ConditionStalled && c.Status == metav1.ConditionTrue || c.Type == v1alpha1.ConditionReady && c.Reason != reason.Pending {
				t.Fatalf("while it waits it says %+v", c)
			}
		}
	}
	first := w.plans.saved
	w.clock.SetTime(w.clock.Now().Add(w.again))
	if b := w.pass(); w.plans.saved != first+1 || b.Status.Run.Rerun != "19" {
		t.Fatalf("after the pause there are %d plans, and %+v", w.plans.saved, b.Status.Run)
	}
	w.clock.SetTime(w.clock.Now().Add(betweenRuns))
	w.ask(100)
	if w.pass(); w.plans.saved != first+2 {
		t.Error("a run that is asked for later waits, too")
	}
}
