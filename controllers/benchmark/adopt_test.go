package benchmark

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// oldRun is a run of release 0.1 with 20 workers: 5 have measured all, 10 have failed, one
// runs, one was stopped and the others wait.
func oldRun() *v1alpha1.RunStatus {
	run := &v1alpha1.RunStatus{TrialsPlanned: 60, TrialsStored: 24, Progress: "24/60"}
	for i := range 20 {
		w := v1alpha1.WorkerStatus{Name: fmt.Sprintf("t.n%d", i), Node: fmt.Sprintf("n%d", i), Phase: "Pending"}
		switch {
		case i < 5:
			w.Phase, w.TrialsStored = v1alpha1.WorkerDone, 3
		case i < 15:
			w.Phase, w.Reason, w.Message = v1alpha1.WorkerFailed, "NoSpace", "it is full"
		case i == 15:
			w.Phase, w.TrialsStored = v1alpha1.WorkerRunning, 2
		case i == 16:
			w.TrialsStored = 1
		}
		run.Workers = append(run.Workers, w)
	}
	run.Workers[14].TrialsStored = 1
	return run
}

func TestTheWorkersOfRelease01AreTakenOver(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.RunStatus)
		want   *v1alpha1.RunStatus
	}{
		// The one that runs is counted by what the store has of it, and the one that was
		// stopped when it runs again.
		"of a run that goes on": {
			func(*v1alpha1.RunStatus) {},
			&v1alpha1.RunStatus{
				TrialsStored: 18, Progress: "18/60",
				Current: &v1alpha1.CurrentWorker{Worker: "t.n15", Node: "n15", TrialsStored: 2},
			},
		},
		"of a run that has ended": {
			func(run *v1alpha1.RunStatus) {
				run.Workers[15].Phase = v1alpha1.WorkerFailed
				run.FinishedAt = new(metav1.NewTime(time.Unix(0, 0)))
			},
			&v1alpha1.RunStatus{TrialsStored: 24, Progress: "24/60", WorkersFailed: 11, Ended: "0-15", FinishedAt: new(metav1.NewTime(time.Unix(0, 0)))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := oldRun()
			c.change(run)
			run.WorkersDone = 99
			adoptWorkers(run)
			if len(run.Failures) != 8 || run.Failures[0].Worker != "t.n5" || run.Failures[0].Reason != "NoSpace" {
				t.Errorf("failures: %+v", run.Failures)
			}
			run.Failures = nil
			c.want.TrialsPlanned, c.want.WorkersTotal, c.want.WorkersDone = 60, 20, 5
			if c.want.Ended == "" {
				c.want.WorkersFailed, c.want.Ended = 10, "0-14"
			}
			if diff := cmp.Diff(c.want, run); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhichSpecARunOfRelease01Measures(t *testing.T) {
	b := withJobFile(3)
	hash := SpecHash(b)
	for name, c := range map[string]struct {
		id, hash string
		want     bool
	}{
		"the present one":                                      {"g7-0123abcd", hash, true},
		"the present one, after it was suspended":              {"g5-0123abcd", hash, true},
		"the present one, to which this release adds":          {"g7-0123abcd", "of the release before", true},
		"the same, and the user has named the run":             {"g1-mine-g7-0123abcd", "of the release before", true},
		"an earlier one, as the present one cannot be started": {"g5-0123abcd", "of another spec", false},
		"the same, and the user has named the run g7-11111111": {"g7-11111111-g5-0123abcd", "of another spec", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := withJobFile(3)
			b.Generation = 7
			b.Status = v1alpha1.StorageBenchmarkStatus{ObservedGeneration: 7, Run: &v1alpha1.RunStatus{ID: c.id, SpecHash: c.hash}}
			b.Status.Run.Generation = generationOf(b)
			if got := (&pass{StorageBenchmark: b}).unchanged(); got != c.want {
				t.Errorf("generation %d: the run is of the present spec: %v, want %v", b.Status.Run.Generation, got, c.want)
			}
		})
	}
}

func TestWhatMayBePutBackOfARunOfRelease01(t *testing.T) {
	b := withJobFile(0)
	b.Spec.Variants = []v1alpha1.Variant{
		{Name: "a", Tunables: []v1alpha1.Tunable{{Name: "block.queue.scheduler"}, {Name: "vm.dirty_ratio"}}},
		{Name: "b", Tunables: []v1alpha1.Tunable{{Name: "vm.dirty_ratio"}}},
	}
	planned := []trial.Variant{{Name: "a", Tunables: []trial.Tunable{{Name: "block.queue.nomerges"}, {Name: "vm.dirty_ratio"}}}}
	var got []string
	for _, s := range settingsOf(b, planned) {
		if cmp.Diff([]string{trial.Everything}, s.Devices) != "" || cmp.Diff([]string{trial.Everything}, s.Datasets) != "" {
			t.Errorf("%+v", s)
		}
		got = append(got, s.Name)
	}
	if diff := cmp.Diff([]string{"block.queue.scheduler", "vm.dirty_ratio", "block.queue.nomerges"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
