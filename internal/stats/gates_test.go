package stats

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

const p99 = "sync.latency.p99"

// gated is a run of one worker whose trials measured these p99s, in milliseconds.
func gated(values []float64, change func(*trial.Plan, *result.WorkerSummary)) result.Summary {
	p := &trial.Plan{
		Targets:   []trial.Target{{Name: "v", Source: trial.StorageClass, Ref: "fast"}},
		Workloads: []trial.Workload{{Name: "etcd"}},
		Workers:   []trial.Worker{{Name: "v.a", Target: "v", Node: "a"}},
		Gates:     []trial.Gate{{Workload: "etcd", Metric: p99, Limit: 0.010, AtMost: true, Text: "10ms"}},
	}
	w := &result.WorkerSummary{Worker: p.Workers[0]}
	for i, v := range values {
		tr := trial.Trial{ID: string(rune('a' + i)), Workload: "etcd", Repeat: i + 1}
		p.Trials = append(p.Trials, tr)
		w.Trials = append(w.Trials, result.TrialSummary{Trial: tr, Outcome: result.Measured, Operations: []string{"write", "sync"}, Metrics: result.Metrics{
			p99: {Unit: result.Seconds, Value: v / 1000}, "write.iops": {Unit: result.PerSecond, Value: 1000},
		}})
	}
	change(p, w)
	return Summarize(p, []result.WorkerSummary{*w}, time.Unix(0, 0))
}

func asIs(*trial.Plan, *result.WorkerSummary) {}

func TestWhatGatesAnswer(t *testing.T) {
	fast, slow, around := []float64{8, 8.1, 7.9, 8, 8.2, 8.1}, []float64{12.1, 11.9, 13, 12.5, 12.2, 12.4}, []float64{8, 11.5, 8.5, 11, 9, 9.5}
	gate := func(metric string, limit float64) func(*trial.Plan, *result.WorkerSummary) {
		return func(p *trial.Plan, _ *result.WorkerSummary) {
			p.Gates = append(p.Gates, trial.Gate{Workload: "etcd", Metric: metric, Limit: limit, Text: "limit"})
		}
	}
	verdict := func(effect result.Effect, operation string) func(*trial.Plan, *result.WorkerSummary) {
		return func(_ *trial.Plan, w *result.WorkerSummary) {
			w.Trials[2].Verdicts = []result.Verdict{{Name: "FromMemory", Effect: effect, Operation: operation, Sentence: "s"}}
		}
	}
	for name, c := range map[string]struct {
		values   []float64
		change   func(*trial.Plan, *result.WorkerSummary)
		answer   string
		outcomes []result.GateOutcome // as sorted
		says     string
	}{
		"within":                      {fast, asIs, result.Qualified, []result.GateOutcome{"Met"}, "sync p99 8.05ms (95 % interval 7.90ms–8.20ms, 6 trials); at most 10ms"},
		"beyond":                      {slow, asIs, result.NotQualified, []result.GateOutcome{"Missed"}, "sync p99 12.3ms"},
		"around":                      {around, asIs, result.Inconclusive, []result.GateOutcome{"Inconclusive"}, "more trials would decide"},
		"too few":                     {fast[:3], asIs, result.Inconclusive, []result.GateOutcome{"Inconclusive"}, "an interval needs 6 trials: measure 3 more"},
		"one of two missed":           {fast, gate("write.iops", 5000), result.NotQualified, []result.GateOutcome{"Missed", "Met"}, "of 2 gates 1 are met, 1 missed"},
		"both met":                    {fast, gate("write.iops", 500), result.Qualified, []result.GateOutcome{"Met", "Met"}, ""},
		"a metric that is not there":  {fast, gate("read.iops", 500), result.Inconclusive, []result.GateOutcome{"Inconclusive", "Met"}, "etcd measured no read.iops; it measured write.iops, sync.latency.p99"},
		"a number from memory":        {fast, verdict(result.Invalidates, "sync"), result.Invalid, []result.GateOutcome{"Inconclusive"}, "FromMemory makes the number worthless"},
		"a bad number from memory":    {slow, verdict(result.Invalidates, ""), result.Invalid, []result.GateOutcome{"Inconclusive"}, "FromMemory"},
		"another number from memory":  {fast, verdict(result.Invalidates, "write"), result.Qualified, []result.GateOutcome{"Met"}, ""},
		"a number with a reservation": {fast, verdict(result.Qualifies, "sync"), result.Qualified, []result.GateOutcome{"Met"}, ""},
		"nothing measured": {fast, func(_ *trial.Plan, w *result.WorkerSummary) {
			for i := range w.Trials {
				w.Trials[i].Outcome = result.Failed
			}
		}, result.Inconclusive, []result.GateOutcome{"Inconclusive"}, "no trial was measured"},
		"a worker that failed beside": {fast, func(_ *trial.Plan, w *result.WorkerSummary) {
			w.Failure = &trial.Failure{Class: "NoSpace"}
		}, result.Inconclusive, []result.GateOutcome{"Met"}, "did not measure everything"},
		"another worker that is lost": {fast, func(p *trial.Plan, _ *result.WorkerSummary) {
			p.Workers = append(p.Workers, trial.Worker{Name: "v.b", Target: "v", Node: "b"})
		}, result.Inconclusive, []result.GateOutcome{"Inconclusive", "Met"}, "no trial of etcd was measured"},
		"a gate for another target": {slow, func(p *trial.Plan, _ *result.WorkerSummary) {
			p.Gates[0].Target = "other"
		}, result.Inconclusive, nil, "no gate could be decided"},
		"a bound that meets a minimum": {fast, func(p *trial.Plan, w *result.WorkerSummary) {
			gate("write.iops", 500)(p, w)
			for i := range w.Trials {
				w.Trials[i].Metrics["write.iops"] = result.Metric{Unit: result.PerSecond, Value: 1000, AtLeast: true}
			}
		}, result.Qualified, []result.GateOutcome{"Met", "Met"}, ""},
		"a bound that misses a minimum": {fast, func(p *trial.Plan, w *result.WorkerSummary) {
			gate("write.iops", 5000)(p, w)
			w.Trials[0].Metrics["write.iops"] = result.Metric{Unit: result.PerSecond, Value: 1000, AtLeast: true}
		}, result.Inconclusive, []result.GateOutcome{"Inconclusive", "Met"}, "1 of 6 trials were too fast"},
	} {
		t.Run(name, func(t *testing.T) {
			s := gated(c.values, c.change)
			var outcomes []result.GateOutcome
			for _, g := range s.Gates {
				outcomes = append(outcomes, g.Outcome)
			}
			if diff := cmp.Diff(c.outcomes, outcomes); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if s.Answer.Answer != c.answer || !strings.Contains(s.Answer.Sentence, c.says) {
				t.Errorf("the answer is %s: %s; want %s, with %q", s.Answer.Answer, s.Answer.Sentence, c.answer, c.says)
			}
		})
	}
}

func TestAGateIsForTheWholeOrElseForItsParts(t *testing.T) {
	parts := func(p *trial.Plan, w *result.WorkerSummary) {
		p.Gates = []trial.Gate{{Workload: "etcd", Metric: "read.iops", Limit: 100, Text: "100"}, {Workload: "etcd", Part: "b", Metric: "read.iops", Limit: 100, Text: "100"}}
		for i := range w.Trials {
			for _, part := range []string{"a", "b"} {
				w.Trials[i].Parts = append(w.Trials[i].Parts, result.PartSummary{Name: part, Operations: []string{"read"}, Metrics: result.Metrics{"read.iops": {Unit: result.PerSecond, Value: 200}}})
			}
		}
	}
	s := gated([]float64{8, 8, 8, 8, 8, 8}, parts)
	var got []string
	for _, g := range s.Gates {
		got = append(got, g.Part)
	}
	if diff := cmp.Diff([]string{"a", "b", "b"}, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	s = gated([]float64{8, 8, 8, 8, 8, 8}, func(p *trial.Plan, w *result.WorkerSummary) {
		parts(p, w)
		p.Gates = p.Gates[:1]
		for i := range w.Trials {
			w.Trials[i].Metrics["read.iops"] = result.Metric{Unit: result.PerSecond, Value: 400}
		}
	})
	if len(s.Gates) != 1 || s.Gates[0].Part != "" || *s.Gates[0].Value != 400 {
		t.Errorf("with the whole: %+v", s.Gates)
	}
}

// Whatever many rows there are, a gate that is missed is not forgotten.
func TestGatesAreBounded(t *testing.T) {
	f := NewFold(&trial.Plan{})
	met, missed := result.Gate{Outcome: result.GateMet}, result.Gate{Outcome: result.GateMissed}
	for range maxGates + 10 {
		f.addGates([]result.Gate{met})
	}
	f.addGates([]result.Gate{missed})
	s := f.Finish(time.Unix(0, 0))
	if len(s.Gates) != maxGates+1 || s.GatesOmitted != 10 || s.Gates[0].Outcome != result.GateMissed {
		t.Errorf("%d gates, %d omitted, the first %s", len(s.Gates), s.GatesOmitted, s.Gates[0].Outcome)
	}
}

func TestAnswersWithoutGates(t *testing.T) {
	none := func(p *trial.Plan, _ *result.WorkerSummary) { p.Gates = nil }
	s := gated([]float64{8, 8, 8, 8, 8, 8}, none)
	if s.Answer.Answer != result.JustMeasured || !strings.Contains(s.Answer.SpeaksFor, "6 trials on one volume of class fast on a; other volumes") {
		t.Errorf("measured: %+v", s.Answer)
	}
	s = gated([]float64{8, 8, 8, 8, 8, 8}, func(p *trial.Plan, w *result.WorkerSummary) {
		none(p, w)
		w.Trials[0].Verdicts = []result.Verdict{{Name: "FromMemory", Effect: result.Invalidates, Operation: "write"}}
	})
	if s.Answer.Answer != result.Invalid || !strings.Contains(s.Answer.Sentence, "FromMemory") {
		t.Errorf("from memory: %+v", s.Answer)
	}
	outcome := func(answers ...string) []result.Comparison {
		var all []result.Comparison
		for _, a := range answers {
			all = append(all, result.Comparison{Primary: &result.Decision{Outcome: a, Sentence: "b is " + a}})
		}
		return append(all, result.Comparison{}) // a part, which decides nothing
	}
	for _, c := range []struct {
		given []string
		want  string
	}{
		{[]string{"Better"}, "Better"}, {[]string{"NoDifference", "Better"}, "Better"}, {[]string{"Better", "Worse"}, "Worse"},
		{[]string{"NoDifference", "Inconclusive"}, "Inconclusive"}, {[]string{"NoDifference", "NoDifference"}, "NoDifference"},
	} {
		got, sentence := answerOfComparisons(outcome(c.given...))
		if got != c.want || !strings.HasPrefix(sentence, "b is "+c.want) {
			t.Errorf("%v: %s (%s), want %s", c.given, got, sentence, c.want)
		}
	}
}
