package schedule

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
)

// The times of the schedule come meanwhile, and try nothing.
func TestARunThatIsRefusedIsTriedAgainAfterATimeThatGrows(t *testing.T) {
	w := newWorld(t, asIs)
	w.refuse = apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("storagebenchmarks").GroupResource(), "x", errors.New("exceeded quota"))
	var at []string
	for after := 30 * time.Second; after < 20*time.Minute; after += 10 * time.Second {
		before := w.tries
		wants(t, w.pass(after), reason.RunRejected, "exceeded quota")
		if w.tries > before {
			at = append(at, fmt.Sprint(after-30*time.Second))
		}
	}
	if diff := cmp.Diff([]string{"0s", "1m0s", "3m0s", "7m0s", "12m0s", "17m0s"}, at); diff != "" {
		t.Errorf("it is tried (-want +got):\n%s", diff)
	}
	// A spec that somebody has corrected is tried at once, and what is made forgets what was refused.
	s := w.pass(20 * time.Minute)
	w.refuse = nil
	s.Generation++
	if err := w.c.Update(w.ctx, s); err != nil {
		t.Fatal(err)
	}
	if wants(t, w.pass(20*time.Minute+time.Second), reason.Scheduled); len(w.benchmarks()) != 1 || len(w.r.refusals.of) != 0 {
		t.Errorf("benchmarks %v, refusals %v", w.benchmarks(), w.r.refusals.of)
	}
}

func TestARefusalGoesWithItsSchedule(t *testing.T) {
	w := newWorld(t, asIs)
	w.refuse = apierrors.NewInternalError(errors.New("failed calling webhook"))
	s := w.pass(30 * time.Second)
	if len(w.r.refusals.of) != 1 {
		t.Fatalf("refusals %v", w.r.refusals.of)
	}
	if err := w.c.Delete(w.ctx, s); err != nil {
		t.Fatal(err)
	}
	if _, err := w.r.Reconcile(w.ctx, ctrl.Request{NamespacedName: key}); err != nil || len(w.r.refusals.of) != 0 {
		t.Errorf("refusals %v, %v", w.r.refusals.of, err)
	}
}

// slow is an API server that answers no read until the test ends.
type slow struct {
	client.Client
	asked chan string
}

func (s slow) Get(ctx context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	s.asked <- key.Namespace
	<-ctx.Done()
	return ctx.Err()
}

func TestSchedulesOfOneNamespaceDoNotKeepOthersFromStarting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := slow{asked: make(chan string, 2*stores.Passes)}
	r := &Reconciler{Client: c}
	pass := func(namespace string) chan ctrl.Result {
		done := make(chan ctrl.Result, 1)
		go func() {
			got, _ := r.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: "s"}})
			done <- got
		}()
		return done
	}
	held := 0
	for range stores.Passes { // of the workers that there are
		done := pass("greedy")
		select {
		case <-c.asked: // it waits for the answer
			held++
		case <-done: // it has no turn
		}
	}
	if held >= stores.Passes {
		t.Fatalf("%d of %d passes are of one namespace", held, stores.Passes)
	}
	pass("modest")
	if namespace := <-c.asked; namespace != "modest" {
		t.Errorf("namespace %s is looked at", namespace)
	}
}
