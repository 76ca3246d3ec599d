package stopping

import (
	"fmt"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// searching is a plan of a search beside a workload with three trials.
func searching(budget float64) *trial.Plan {
	p := &trial.Plan{
		Stop:      &trial.Stop{Min: 3, Max: 3, HalfWidth: 0.05, BudgetSeconds: budget},
		Workloads: []trial.Workload{{Name: "knee", Knee: &trial.Knee{Metric: "read.latency.p99", Limit: 0.01, From: 50, To: 5000, Probes: 30}}, {Name: "plain"}},
	}
	for r := 1; r <= 30; r++ {
		p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprintf("knee.%d", r), Workload: "knee", Repeat: r})
		if r <= 3 {
			p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprintf("plain.%d", r), Workload: "plain", Repeat: r})
		}
	}
	return p
}

// throttled is storage that does 800 a second.
func throttled(t trial.Trial) result.TrialSummary {
	s := result.TrialSummary{Trial: t, Seconds: 10, Outcome: result.Measured, Operations: []string{"read"}, Metrics: result.Metrics{
		"read.iops": {Unit: result.PerSecond, Value: 800}, "read.latency.p99": {Unit: result.Seconds, Value: 0.001},
	}}
	if t.Rate > 800 {
		s.Verdicts = []result.Verdict{{Name: "Overloaded", Effect: result.Invalidates}}
	}
	return s
}

func TestAWorkerSearches(t *testing.T) {
	done, stopped := run(t, searching(0), throttled)
	plain, last := 0, int64(0)
	for _, s := range done {
		if s.Workload == "plain" {
			plain++
			continue
		}
		if last = s.Rate; last < 50 || last > 5000 {
			t.Errorf("%s offers %d", s.ID, last)
		}
	}
	if plain != 3 || len(done) > 18 || len(stopped) != 1 || stopped[0].Reason != result.StopKnee || last < 760 || last > 840 {
		t.Errorf("%d trials, %d of them plain, the last offers %d; stopped %+v", len(done), plain, last, stopped)
	}
}

func TestASearchStopsWithTheBudget(t *testing.T) {
	done, stopped := run(t, searching(60), throttled)
	if len(done) > 7 || len(stopped) != 1 || stopped[0].Reason != result.StopBudget {
		t.Errorf("%d trials of 10 s; stopped %+v", len(done), stopped)
	}
}

func TestASearchEndsWithAProbeThatFails(t *testing.T) {
	done, _ := run(t, searching(0), func(x trial.Trial) result.TrialSummary {
		s := throttled(x)
		if x.ID == "knee.4" {
			s.Outcome = result.Failed
		}
		return s
	})
	if len(done) != 7 {
		t.Errorf("%d trials", len(done))
	}
}
