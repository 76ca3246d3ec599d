package benchmark

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/status"
)

// A reconciler without clients writes nothing and gives nothing back, or the test ends here.
func TestABenchmarkThatWaitsForOthersKeepsWhatItHas(t *testing.T) {
	var turns stores.Turns
	_, turn := turns.Pass(t.Context(), "lab")
	p := &pass{StorageBenchmark: &v1alpha1.StorageBenchmark{}, before: &v1alpha1.StorageBenchmark{}, turn: turn}
	p.outcome = status.Underway(reason.Running, "", 0)
	r := &Reconciler{}
	got, err := r.summarize(t.Context(), p, fmt.Errorf("open: %w", stores.ErrBusy))
	if want := (ctrl.Result{RequeueAfter: turn.Again()}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if len(p.Status.Conditions) > 0 {
		t.Errorf("it says %+v", p.Status.Conditions)
	}
}

// A reconciler without clients reads nothing either, or the test ends here.
func TestAPassWithoutATurnOfItsNamespaceDoesNothing(t *testing.T) {
	r := &Reconciler{}
	for range stores.Passes {
		_, other := r.turns.Pass(t.Context(), "lab")
		_ = other.Enter() // until there is no turn
	}
	got, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "lab", Name: "b"}})
	if err != nil || got.RequeueAfter <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
