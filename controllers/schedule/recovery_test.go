package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"storagebench.io/storagebench/api/v1alpha1"
)

func TestAPassThatCouldNotWriteItsStatusIsMadeGood(t *testing.T) {
	w := newWorld(t, asIs)
	w.pass(30 * time.Second)
	s := w.pass(31 * time.Second)
	s.Status.LastScheduleTime, s.Status.Active = nil, nil
	if err := w.c.Status().Update(w.ctx, s); err != nil {
		t.Fatal(err)
	}
	w.end(1, true, 1)
	s = w.pass(32 * time.Second)
	if got := w.benchmarks(); len(got) != 1 || s.Status.LastScheduleTime == nil || len(s.Status.Active) != 0 || s.Status.Succeeded != 1 {
		t.Errorf("benchmarks %v, status %+v", got, s.Status)
	}
}

// The next pass must neither replace the run that the last one made, nor wait for it.
func TestARunWhoseTimeWasNotWrittenDownIsNotReplaced(t *testing.T) {
	for _, policy := range []v1alpha1.ConcurrencyPolicy{v1alpha1.ReplaceConcurrent, v1alpha1.ForbidConcurrent} {
		w := newWorld(t, func(s *v1alpha1.StorageBenchmarkSchedule) { s.Spec.ConcurrencyPolicy = policy })
		w.pass(30 * time.Second)
		s := w.pass(31 * time.Second)
		s.Status.LastScheduleTime = nil
		if err := w.c.Status().Update(w.ctx, s); err != nil {
			t.Fatal(err)
		}
		s = w.pass(32 * time.Second)
		if got := w.benchmarks(); len(got) != 1 || s.Status.LastScheduleTime == nil || w.said("RunReplaced") || w.said("RunActive") {
			t.Errorf("%s: benchmarks %v, last %v, events %v", policy, got, s.Status.LastScheduleTime, w.events)
		}
	}
}

func TestWhatIsComparedWithIsKeptWhereTheOperatorHasTheResults(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.StorageBenchmarkSchedule) {
		s.Spec.SuccessfulHistoryLimit = new(int32(1))
		s.Spec.Template.Spec.Baseline = &v1alpha1.Baseline{}
	})
	for n := 1; n <= 4; n++ {
		w.pass(time.Duration(n)*time.Minute - 30*time.Second)
		w.end(n, true, 1000)
		w.statusOnly(n, n == 1)
		w.pass(time.Duration(n)*time.Minute - 20*time.Second)
	}
	if diff := cmp.Diff([]string{named(1), named(4)}, w.benchmarks()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// statusOnly says that a run has no ResultStore, and whether later ones may be compared with it.
func (w *world) statusOnly(n int, qualified bool) {
	w.t.Helper()
	b := &v1alpha1.StorageBenchmark{}
	if err := w.c.Get(w.ctx, types.NamespacedName{Namespace: "lab", Name: named(n)}, b); err != nil {
		w.t.Fatal(err)
	}
	b.Status.Run.StatusOnly = true
	if !qualified {
		b.Status.LatestQualified = ""
	}
	if err := w.c.Status().Update(w.ctx, b); err != nil {
		w.t.Fatal(err)
	}
}

func TestNobodyMissesWhatWasSuspended(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.StorageBenchmarkSchedule) {
		s.Spec.Suspend, s.Spec.StartingDeadlineSeconds = true, new(int64(10))
	})
	s := w.pass(10 * time.Minute)
	s.Spec.Suspend = false
	if err := w.c.Update(w.ctx, s); err != nil {
		t.Fatal(err)
	}
	if s = w.pass(10*time.Minute + 15*time.Second); s.Status.Missed != 0 {
		t.Errorf("%d missed", s.Status.Missed)
	}
}
