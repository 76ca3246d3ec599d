package stats

import (
	"math"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// decided returns the comparisons of a control of 100 with variants of these factors of its rate, with a
// little noise, and read latencies of the inverse.
func decided(repeats int, order string, rule *trial.Compare, mark func(*result.TrialSummary), factors ...float64) []result.Comparison {
	worker := trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	p := &trial.Plan{Workloads: []trial.Workload{{Name: "w"}}, Variants: []trial.Variant{{Name: "control"}}, Workers: []trial.Worker{worker}, Order: order, Compare: rule}
	names := []string{"control"}
	factors = append([]float64{1}, factors...)
	for i := range factors[1:] {
		names = append(names, string(rune('a'+i)))
		p.Variants = append(p.Variants, trial.Variant{Name: names[i+1]})
	}
	w := result.WorkerSummary{Worker: worker}
	for repeat := range repeats {
		for place := range names {
			i := place
			if repeat%2 == 1 && order != "Sequential" { // ABBA
				i = len(names) - 1 - place
			}
			noise := 1 + 0.001*float64((repeat*7+i*3)%5)
			if repeat < 2 {
				noise *= 1.2 // warm-up
			}
			t := result.TrialSummary{
				Trial: trial.Trial{Workload: "w", Variant: names[i], Repeat: repeat + 1, Block: repeat/2 + 1}, Outcome: result.Measured, Operations: []string{"read"},
				Metrics: result.Metrics{"read.iops": {Unit: result.PerSecond, Value: 100 * factors[i] * noise}, "read.latency.p99": {Unit: result.Seconds, Value: 1 / factors[i] / noise}},
			}
			if order == "Random" {
				t.Block = repeat + 1
			}
			if mark != nil {
				mark(&t)
			}
			w.Trials = append(w.Trials, t)
		}
	}
	return Summarize(p, []result.WorkerSummary{w}, time.Unix(0, 0)).Comparisons
}

func TestAComparisonHasAnOutcomeAndASentence(t *testing.T) {
	invalid := func(t *result.TrialSummary) {
		if t.Variant == "a" && t.Repeat == 3 {
			t.Verdicts = []result.Verdict{{Name: "FromMemory", Effect: result.Invalidates, Operation: "read", Sentence: "It is."}}
		}
	}
	unsafe := func(t *result.TrialSummary) {
		if t.Variant == "a" {
			t.Verdicts = []result.Verdict{{Name: "UnsafeConfiguration", Effect: result.Invalidates, Operation: "read", Sentence: "It is."}}
		}
	}
	both := func(t *result.TrialSummary) {
		if unsafe(t); t.Variant == "a" {
			t.Verdicts = append(t.Verdicts, result.Verdict{Name: "FromMemory", Effect: result.Invalidates, Operation: "read", Sentence: "It is."})
		}
	}
	tooFast := func(t *result.TrialSummary) {
		m := t.Metrics["read.iops"]
		m.AtLeast = t.Repeat == 1
		t.Metrics["read.iops"] = m
	}
	nothing := func(t *result.TrialSummary) { t.Metrics["read.iops"] = result.Metric{Unit: result.PerSecond} }
	for name, c := range map[string]struct {
		repeats int
		order   string
		rule    *trial.Compare
		mark    func(*result.TrialSummary)
		factor  float64
		want    Outcome
		more    int
		text    string
	}{
		"faster":                       {12, "", nil, nil, 1.2, Better, 0, "read.iops is 20.1 % higher with a than with control (95 % interval +"},
		"slower":                       {12, "Interleaved", nil, nil, 0.8, Worse, 0, "read.iops is 20 % lower with a than with control (95 % interval −20"},
		"the same":                     {12, "", nil, nil, 1, NoDifference, 0, "6 blocks); less than the 5 % that matter."},
		"the latency decides":          {12, "", &trial.Compare{Metric: "read.latency.p99", MinEffect: 0.1}, nil, 1.25, Better, 0, "read.latency.p99 is 20 % lower"},
		"a difference that is allowed": {12, "", &trial.Compare{MinEffect: 0.3}, nil, 0.8, NoDifference, 0, "less than the 30 % that matter"},
		"too few":                      {6, "", nil, nil, 1.2, Undecided, 6, "in 3 blocks, too few for an interval; about 6 more repeats would give one."},
		"an odd one":                   {11, "", nil, nil, 1.2, Undecided, 2, "in 5 blocks"},
		"random":                       {8, "Random", nil, nil, 1.2, Better, 0, "8 blocks)."},
		"sequential":                   {8, "Sequential", nil, nil, 1.5, Better, 0, "8 trials); in sequential order a drift cannot be told from a difference."},
		"memory":                       {12, "", nil, invalid, 1.2, Undecided, 0, "read.iops cannot be compared: variant invalid: FromMemory."},
		"unsafe on purpose":            {12, "", nil, unsafe, 1.2, Better, 0, "6 blocks). What is acknowledged can be lost when the power fails: UnsafeConfiguration."},
		"unsafe, and memory":           {12, "", nil, both, 1.2, Undecided, 0, "read.iops cannot be compared: variant invalid: FromMemory, UnsafeConfiguration."},
		"too fast":                     {12, "", nil, tooFast, 1.2, Undecided, 12, "1 of 12 pairs were too fast to be measured"},
		"nothing":                      {12, "", nil, nothing, 1.2, Undecided, 12, "read.iops has no ratio, because a value is 0."},
	} {
		all := decided(c.repeats, c.order, c.rule, c.mark, c.factor)
		if len(all) != 1 || all[0].Primary == nil {
			t.Errorf("%s: %+v", name, all)
			continue
		}
		if d := all[0].Primary; d.Outcome != string(c.want) || d.MoreRepeats != c.more || !strings.Contains(d.Sentence, c.text) {
			t.Errorf("%s: %+v", name, *d)
		}
		if got := Answer(all); got != c.want {
			t.Errorf("%s: the answer is %s", name, got)
		}
	}
	for name, rule := range map[string]*trial.Compare{"another workload": {Workload: "other", Metric: "read.iops"}, "a metric that nothing has": {Metric: "trim.iops"}} {
		if all := decided(12, "", rule, nil, 1.2); len(all) != 1 || all[0].Primary != nil || Answer(all) != "" {
			t.Errorf("%s decides: %+v", name, all[0].Primary)
		}
	}
}

func TestOutcomesAreCorrectedForTheirNumber(t *testing.T) {
	all := decided(12, "", nil, nil, 1.2, 1.3, 1.4)
	for _, c := range all {
		if d := c.Primary; d.Outcome != string(Undecided) || d.MoreRepeats != 2 || !strings.Contains(d.Sentence, "of 3 comparisons one can be like this by chance, about 2 more repeats would decide.") {
			t.Errorf("%+v", *d)
		}
	}
	for _, c := range decided(14, "", nil, nil, 1.2, 1.3, 1.4) {
		if c.Primary.Outcome != string(Better) {
			t.Errorf("with what it asked for: %+v", *c.Primary)
		}
	}
}

// What a tenant uploads must not make a summary that is no JSON.
func TestNumbersThatOverflowHaveNoRatio(t *testing.T) {
	huge := func(t *result.TrialSummary) {
		v := 1e300
		if t.Variant == "a" {
			v = 1e-300
		}
		t.Metrics["read.iops"] = result.Metric{Unit: result.PerSecond, Value: v}
		t.Metrics["read.latency.p99"] = result.Metric{Unit: result.Seconds, Value: 1 / v}
	}
	c := decided(12, "", nil, huge, 1)[0]
	for name, m := range c.Metrics {
		for _, i := range []*result.Interval{m.Ratio, m.Order, &m.Difference} {
			if i == nil {
				continue
			}
			for _, v := range []*float64{&i.Median, i.Low, i.High} {
				if v != nil && (math.IsInf(*v, 0) || math.IsNaN(*v)) {
					t.Errorf("%s: %v", name, *v)
				}
			}
		}
	}
}
