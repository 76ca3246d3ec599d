package leases

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/progress"
)

type indexer func(client.Object, string, client.IndexerFunc)

func (f indexer) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	f(o, field, extract)
	return nil
}

// A tenant whose quota is 50 benchmarks queues 50 of a day each: nobody else may measure on the node for 50 days.
func TestOneNamespaceDoesNotHaveTheWholeQueue(t *testing.T) {
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = v1alpha1.AddToScheme(scheme)
	begin := time.Unix(1_000_000, 0)
	queued := func(namespace string, i int) *v1alpha1.StorageBenchmark {
		b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("b", i), UID: types.UID(fmt.Sprint(namespace, i))}}
		b.Status.Run = &v1alpha1.RunStatus{ID: "r", QueuedAt: metav1.NewMicroTime(begin.Add(time.Duration(i) * time.Second)), Current: &v1alpha1.CurrentWorker{Node: "n"}}
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason.Queued}}
		return b
	}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for i := range 50 {
		builder.WithObjects(queued("greedy", i))
	}
	builder.WithObjects(queued("modest", 60))
	if err := Index(t.Context(), indexer(func(o client.Object, field string, f client.IndexerFunc) { builder.WithIndex(o, field, f) })); err != nil {
		t.Fatal(err)
	}
	c := builder.Build()
	l := &Leases{Client: c, Clock: clocktesting.NewFakePassiveClock(begin.Add(time.Hour))}
	for served := 0; ; served++ {
		first, err := l.First(t.Context(), "n")
		if err != nil || first == nil {
			t.Fatal(first, err)
		}
		if first.Namespace == "modest" {
			if served > 2 {
				t.Errorf("the other namespace is served after %d runs of one namespace", served)
			}
			return
		}
		if err := l.Acquire(t.Context(), first, "n", time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(t.Context(), first); err != nil { // it has ended
			t.Fatal(err)
		}
	}
}

// Whoever fills a benchmark to the limit of etcd keeps the end of its run from being recorded.
func TestALeaseDoesNotOutlastTheTimeoutOfItsRun(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = v1alpha1.AddToScheme(scheme)
	of := func(namespace string) *v1alpha1.StorageBenchmark {
		b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b", UID: types.UID(namespace)}}
		b.Status.Run = &v1alpha1.RunStatus{ID: "r", QueuedAt: metav1.NewMicroTime(clock.Now()), Current: &v1alpha1.CurrentWorker{Node: "n"}}
		return b
	}
	full, other := of("full"), of("other")
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(full, other)
	if err := Index(t.Context(), indexer(func(o client.Object, field string, f client.IndexerFunc) { builder.WithIndex(o, field, f) })); err != nil {
		t.Fatal(err)
	}
	l := &Leases{Client: builder.Build(), Namespace: "system", Clock: clock}
	claim := func(b *v1alpha1.StorageBenchmark) progress.Claim {
		t.Helper()
		c, err := l.Claim(t.Context(), b, "n")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := l.Acquire(t.Context(), full, "n", time.Hour); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(clock.Now().Add(time.Hour + grace))
	if !claim(full).Mine || !claim(other).Taken {
		t.Error("the node was given away before its time")
	}
	clock.SetTime(clock.Now().Add(time.Second))
	if claim(full).Mine || claim(other) != (progress.Claim{}) {
		t.Errorf("the node is still held: %+v", claim(other))
	}
	if err := l.Renew(t.Context(), "n", 2*time.Hour); err != nil { // spec.timeout was raised in time
		t.Fatal(err)
	}
	if !claim(full).Mine {
		t.Error("a raised timeout does not count")
	}
	clock.SetTime(clock.Now().Add(2 * time.Hour))
	if err := l.Acquire(t.Context(), other, "n", time.Hour); err != nil || !claim(other).Mine || !claim(full).Taken {
		t.Errorf("%v: %+v", err, claim(full))
	}
}
