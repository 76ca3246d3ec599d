package page

import (
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func TestATrialsChartSaysWhatWasDoneBeforeTheFirstTrial(t *testing.T) {
	rounds := func(p *result.Precondition) result.TrialSummary {
		s := result.TrialSummary{
			Trial: trial.Trial{ID: "w.control.r001", Workload: "w", Variant: "control", Repeat: 1}, Outcome: result.Measured, Precondition: p,
			Operations: []string{"write"}, Metrics: result.Metrics{}, StartedAt: time.Unix(1_000, 0),
		}
		s.Metrics.Set("write.iops", result.PerSecond, 100)
		return s
	}
	on := func(node string, p *result.Precondition) report.WorkerTrials {
		return report.WorkerTrials{Worker: trial.Worker{Target: "fast", Node: node}, Trials: []result.TrialSummary{rounds(p)}}
	}
	steady := &result.Precondition{MaxRounds: 25, Rounds: 8, Metric: "write.iops", Rates: []float64{900, 500, 300, 100, 100, 100, 100, 100}, Steady: new(true)}
	never := *steady
	never.Steady = new(false)
	plain := &result.Precondition{MaxRounds: 1, Rounds: 1}
	for name, c := range map[string]struct {
		workers []report.WorkerTrials
		want    string
	}{
		"none":     {[]report.WorkerTrials{on("a", nil)}, ""},
		"steady":   {[]report.WorkerTrials{on("a", steady)}, "Before the first trial, fast on a: 8 rounds not measured, from 900 to 100 write.iops, then steady."},
		"two":      {[]report.WorkerTrials{on("a", &never), on("b", plain)}, "from 900 to 100 write.iops, and not steady then; fast on b: 1 round not measured."},
		"too many": {[]report.WorkerTrials{on("a", plain), on("b", plain), on("c", plain), on("d", plain), on("e", plain), on("f", plain)}, "; and 2 more."},
	} {
		charts, _ := trialCharts(c.workers)
		if len(charts) != 1 || !strings.HasSuffix(charts[0].Note, c.want) || c.want == "" && charts[0].Note != "" {
			t.Errorf("%s: %+v", name, charts)
		}
	}
}
