package stats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func TestASearchHasAnAnswerAndNoRow(t *testing.T) {
	p := &trial.Plan{
		Workers:   []trial.Worker{{Name: "fast.a", Target: "fast", Node: "a"}},
		Workloads: []trial.Workload{{Name: "w", Knee: &trial.Knee{Metric: "read.latency.p99", Limit: 0.002, Text: "2ms", From: 100, To: 1000, Probes: 20}}},
	}
	for name, c := range map[string]struct {
		limit int64
		rates []int64
		says  string
		is    string
		lower int64
		upper int64
	}{
		"found":      {500, []int64{100, 1000, 1000, 490, 510, 490, 510}, "read p99 at most 2ms up to 490 per second; at 510 it is not (7 probes)", result.JustMeasured, 490, 510},
		"below":      {50, []int64{100, 100}, "the highest that keeps it is below", result.JustMeasured, 0, 100},
		"above":      {5000, []int64{100, 1000, 1000}, "at 1000 per second, the highest rate: the storage may do more", result.JustMeasured, 1000, 0},
		"unfinished": {500, []int64{100, 1000, 490}, "from 490 to 1000 per second (3 probes); raise slo.probes", result.Inconclusive, 490, 1000},
	} {
		w := result.WorkerSummary{Worker: p.Workers[0], Environment: &result.Environment{}}
		for i, rate := range c.rates {
			latency := 0.0002
			if rate > c.limit {
				latency = 0.2
			}
			w.Trials = append(w.Trials, result.TrialSummary{
				Trial: trial.Trial{ID: fmt.Sprint(i), Workload: "w", Repeat: i + 1, Rate: rate}, Outcome: result.Measured,
				Metrics: result.Metrics{"read.latency.p99": {Unit: result.Seconds, Value: latency}, "read.iops": {Unit: result.PerSecond, Value: float64(rate)}},
			})
		}
		s := Summarize(p, []result.WorkerSummary{w}, time.Time{})
		if len(s.Rows) != 0 || len(s.Sweeps) != 1 {
			t.Fatalf("%s: %d rows, %d sweeps", name, len(s.Rows), len(s.Sweeps))
		}
		got := s.Sweeps[0]
		if s.Answer == nil || s.Answer.Answer != c.is || !strings.Contains(s.Answer.Sentence, c.says) {
			t.Errorf("%s: the run's answer is %+v", name, s.Answer)
		}
		if got.Knee.Lower != c.lower || got.Knee.Upper != c.upper || !strings.Contains(got.Sentence, c.says) {
			t.Errorf("%s: %+v: %s", name, *got.Knee, got.Sentence)
		}
		if len(got.Points) == 0 || got.Points[0].Values[0] != "100" || got.Points[0].Over != (c.limit < 100) {
			t.Errorf("%s: points %+v", name, got.Points)
		}
	}
}

// The probes at the ends of an answer have verdicts, and it names them: not those of other rates, and not what the search
// itself is about.
func TestTheAnswerOfASearchNamesTheVerdictsOnItsEnds(t *testing.T) {
	p := &trial.Plan{
		Workers:   []trial.Worker{{Name: "fast.a", Target: "fast", Node: "a"}},
		Workloads: []trial.Workload{{Name: "w", Knee: &trial.Knee{Metric: "read.latency.p99", Limit: 0.002, Text: "2ms", From: 100, To: 1000, Probes: 20}}},
	}
	verdicts := map[int64][]result.Verdict{
		100: {{Name: "BackgroundIO", Effect: result.Qualifies}},
		490: {{Name: "WorkingSetTooSmall", Effect: result.Qualifies}, {Name: "NotSteady", Effect: result.Qualifies, Operation: "write"}},
		510: {{Name: "Overloaded", Effect: result.Invalidates}, {Name: "FromMemory", Effect: result.Invalidates, Operation: "read"}},
	}
	w := result.WorkerSummary{Worker: p.Workers[0], Environment: &result.Environment{}}
	for i, rate := range []int64{100, 1000, 1000, 490, 510, 490, 510} {
		latency := 0.0002
		if rate > 500 {
			latency = 0.2
		}
		w.Trials = append(w.Trials, result.TrialSummary{
			Trial: trial.Trial{ID: fmt.Sprint(i), Workload: "w", Repeat: i + 1, Rate: rate}, Outcome: result.Measured, Operations: []string{"read", "write"},
			Metrics: result.Metrics{"read.latency.p99": {Unit: result.Seconds, Value: latency}}, Verdicts: verdicts[rate],
		})
	}
	got := Summarize(p, []result.WorkerSummary{w}, time.Time{}).Sweeps[0].Sentence
	if want := "at 510 it is not (7 probes) [invalid: FromMemory; qualified: WorkingSetTooSmall]"; !strings.HasSuffix(got, want) {
		t.Errorf("it says %q, want %q at the end", got, want)
	}
}

// The trials were measured, but none of them what was asked for: that is said, and nothing of the storage.
func TestASearchWhoseMetricNobodyMeasuredSaysSo(t *testing.T) {
	p := &trial.Plan{
		Workers:   []trial.Worker{{Name: "fast.a", Target: "fast", Node: "a"}},
		Workloads: []trial.Workload{{Name: "w", Knee: &trial.Knee{Metric: "sync.latency.p99", Limit: 0.002, Text: "2ms", From: 100, To: 1000, Probes: 4}}},
	}
	w := result.WorkerSummary{Worker: p.Workers[0], Environment: &result.Environment{}}
	for i := range 4 {
		w.Trials = append(w.Trials, result.TrialSummary{
			Trial: trial.Trial{ID: fmt.Sprint(i), Workload: "w", Repeat: i + 1, Rate: 100}, Outcome: result.Measured,
			Metrics: result.Metrics{"read.latency.p99": {Unit: result.Seconds, Value: 0.1}},
		})
	}
	a := Summarize(p, []result.WorkerSummary{w}, time.Time{}).Answer
	if a == nil || a.Answer != result.Inconclusive || !strings.Contains(a.Sentence, "no probe measured it") {
		t.Errorf("the answer is %+v", a)
	}
}
