package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// variantsOf returns a plan with a control and a variant, and what a worker measured
// with both, by rate(variant, repeat), where that is not negative.
func variantsOf(repeats int, rate func(variant string, repeat int) float64) (*trial.Plan, result.WorkerSummary) {
	worker := trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	p := &trial.Plan{
		Workloads: []trial.Workload{{Name: "sync"}},
		Variants:  []trial.Variant{{Name: "control"}, {Name: "off"}},
		Workers:   []trial.Worker{worker},
	}
	w := result.WorkerSummary{Worker: worker}
	for repeat := 1; repeat <= repeats; repeat++ {
		order := []string{"control", "off"}
		if repeat%2 == 0 { // ABBA
			order = []string{"off", "control"}
		}
		for _, v := range order {
			t := result.TrialSummary{Trial: trial.Trial{Workload: "sync", Variant: v, Repeat: repeat}, Outcome: result.Failed}
			if r := rate(v, repeat); r >= 0 {
				t.Outcome = result.Measured
				t.Metrics = result.Metrics{"write.iops": {Unit: result.PerSecond, Value: r}, "device.flush.count": {Unit: result.Count, Value: 0}}
			}
			w.Trials = append(w.Trials, t)
		}
	}
	return p, w
}

// comparisonOf is the one comparison of what variantsOf returns.
func comparisonOf(t *testing.T, repeats int, rate func(variant string, repeat int) float64) result.Comparison {
	t.Helper()
	p, w := variantsOf(repeats, rate)
	s := Summarize(p, []result.WorkerSummary{w}, time.Unix(0, 0))
	if len(s.Comparisons) != 1 {
		t.Fatalf("%d comparisons", len(s.Comparisons))
	}
	return s.Comparisons[0]
}

// A drift that is far larger than the effect falls on both of a pair.
func TestADriftOfTheMachineIsInNoComparison(t *testing.T) {
	c := comparisonOf(t, 12, func(variant string, repeat int) float64 {
		rate := 1000 * math.Pow(2, float64(repeat))
		if variant == "off" {
			rate *= 1.1
		}
		return rate
	})
	m := c.Metrics["write.iops"]
	if c.Variant != "off" || c.Control != "control" || m.Pairs != 12 || m.Blocks != 6 || m.Ratio == nil || math.Abs(m.Ratio.Median-1.1) > 1e-9 ||
		math.Abs(*m.Ratio.Low-1.1) > 1e-9 || math.Abs(*m.Ratio.High-1.1) > 1e-9 || m.Unit != result.PerSecond {
		t.Errorf("%+v, %+v", c, m.Ratio)
	}
	if m := c.Metrics["device.flush.count"]; m.Ratio != nil || m.Difference.Median != 0 {
		t.Errorf("a ratio to 0: %+v", m)
	}
}

// Whichever is the control, the ratio says the same.
func TestRatiosAreFormedInLogSpace(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for repeats := 1; repeats <= 12; repeats++ {
		rates := map[string][]float64{}
		for range repeats + 1 {
			rates["control"] = append(rates["control"], 1+r.Float64())
			rates["off"] = append(rates["off"], 1+r.Float64())
		}
		there := comparisonOf(t, repeats, func(variant string, repeat int) float64 { return rates[variant][repeat] }).Metrics["write.iops"].Ratio
		rates["control"], rates["off"] = rates["off"], rates["control"]
		back := comparisonOf(t, repeats, func(variant string, repeat int) float64 { return rates[variant][repeat] }).Metrics["write.iops"].Ratio
		if math.Abs(there.Median*back.Median-1) > 1e-12 || repeats >= 12 && math.Abs(*there.Low**back.High-1) > 1e-12 {
			t.Errorf("%d pairs: there %+v, back %+v", repeats, there, back)
		}
	}
	none := comparisonOf(t, 12, func(variant string, _ int) float64 {
		if variant == "off" {
			return 0
		}
		return 5
	})
	if m := none.Metrics["write.iops"]; m.Ratio != nil || m.Difference.Median != -5 || *m.Difference.High != -5 {
		t.Errorf("nothing compared with something: %+v", m)
	}
}

func TestATrialThatFailedIsInNoPair(t *testing.T) {
	c := comparisonOf(t, 7, func(variant string, repeat int) float64 {
		switch {
		case variant == "off" && repeat == 2, variant == "control" && repeat == 5:
			return -1
		case variant == "off":
			return 50
		}
		return 100
	})
	m := c.Metrics["write.iops"]
	if m.Pairs != 5 || m.Ratio == nil || math.Abs(m.Ratio.Median-0.5) > 1e-12 || m.Ratio.Low != nil || m.Control != 100 || m.Variant != 50 || m.Difference.Median != -50 {
		t.Errorf("%+v %+v", c, m)
	}
}

// A metric that one trial has not, as the disks' time for a write when nothing was
// written, is compared over the pairs that have it, and says how many those are.
func TestAMetricThatATrialHasNotIsInFewerPairs(t *testing.T) {
	p, w := variantsOf(7, func(string, int) float64 { return 1 })
	delete(w.Trials[3].Metrics, "write.iops")
	metrics := Summarize(p, []result.WorkerSummary{w}, time.Unix(0, 0)).Comparisons[0].Metrics
	if n, all := metrics["write.iops"].Pairs, metrics["device.flush.count"].Pairs; n != 6 || all != 7 {
		t.Errorf("%d pairs, and %d of what all have", n, all)
	}
}

func TestARunWithoutVariantsOrPairsComparesNothing(t *testing.T) {
	p, w := variantsOf(6, func(variant string, _ int) float64 {
		if variant == "off" {
			return -1
		}
		return 1
	})
	if s := Summarize(p, []result.WorkerSummary{w}, time.Unix(0, 0)); len(s.Comparisons) != 0 {
		t.Errorf("without pairs: %+v", s.Comparisons)
	}
	p.Variants = nil
	if s := Summarize(p, []result.WorkerSummary{w}, time.Unix(0, 0)); len(s.Comparisons) != 0 {
		t.Errorf("without variants: %+v", s.Comparisons)
	}
}

func TestTheIntervalOfARatioHoldsItAsOftenAsItSays(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const rounds, truth = 1000, 0.9
	held := 0
	for range rounds {
		drift := 0.0
		c := comparisonOf(t, 12, func(variant string, _ int) float64 {
			if variant == "control" {
				drift = 100 * (1 + r.Float64())
				return drift
			}
			return drift * truth * math.Exp(0.2*r.NormFloat64())
		})
		if ratio := c.Metrics["write.iops"].Ratio; *ratio.Low <= truth && truth <= *ratio.High {
			held++
		}
	}
	if held < rounds*94/100 {
		t.Errorf("the interval holds the ratio in %d of %d rounds", held, rounds)
	}
}

func TestPartsAreRowsAndAreCompared(t *testing.T) {
	worker := trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	p := &trial.Plan{Workloads: []trial.Workload{{Name: "w"}}, Variants: []trial.Variant{{Name: "control"}, {Name: "off"}}, Workers: []trial.Worker{worker}}
	w := result.NewWorkerSummary(p, worker)
	for repeat := 1; repeat <= 6; repeat++ {
		for rate, v := range map[float64]string{100: "control", 50: "off"} {
			h := &histogram.Histogram{}
			h.Add(uint64(rate)*1000, 10)
			part := func(name string, share float64) result.Part {
				return result.Part{Name: name, Operations: []string{"write"}, Histograms: result.Histograms{"write": h}, Metrics: result.Metrics{
					"write.iops": {Unit: result.PerSecond, Value: rate * share}, "write.latency.p99": {Unit: result.Seconds, Value: 1},
				}}
			}
			w.Fold(&result.Trial{Trial: trial.Trial{ID: v + string(rune('0'+repeat)), Workload: "w", Variant: v, Repeat: repeat}, Outcome: result.Measured, Measurement: result.Measurement{
				Metrics: result.Metrics{"write.iops": {Unit: result.PerSecond, Value: 1}, "device.flush.count": {Unit: result.Count, Value: rate}}, Operations: []string{"write"},
				PartsOnly: true, Parts: []result.Part{part("log", 1), part("data", 2)},
			}}, result.Object{})
		}
	}
	s := Summarize(p, []result.WorkerSummary{*w}, time.Unix(0, 0))
	var rows, changes []string
	for _, r := range s.Rows {
		rows = append(rows, fmt.Sprintf("%s[%s] n=%d %v %g", r.Variant, r.Part, r.N, r.Operations, r.Metrics["write.iops"].Median))
		if r.Part != "" && (r.Metrics["write.latency.p99"].Pooled == nil || r.Histograms["write"].Count() != 60) {
			t.Errorf("%s[%s] is not of its own histogram: %+v", r.Variant, r.Part, r)
		}
	}
	for _, c := range s.Comparisons {
		changes = append(changes, fmt.Sprintf("%s[%s] %d metrics, %g", c.Variant, c.Part, len(c.Metrics), c.Metrics["write.iops"].Variant))
	}
	if diff := cmp.Diff([]string{
		"control[] n=6 [] 0", "control[log] n=6 [write] 100", "control[data] n=6 [write] 200",
		"off[] n=6 [] 0", "off[log] n=6 [write] 50", "off[data] n=6 [write] 100",
	}, rows); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"off[] 1 metrics, 0", "off[log] 2 metrics, 50", "off[data] 2 metrics, 100"}, changes); diff != "" {
		t.Error(diff)
	}
}

// ordered returns the comparison of what a plan's order makes of a variant that changes a
// rate by one factor, where a later trial changes it by another.
func ordered(t *testing.T, repeats int, variant, later float64) result.Change {
	t.Helper()
	worker := trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	p := &trial.Plan{Workloads: []trial.Workload{{Name: "w"}}, Variants: []trial.Variant{{Name: "control"}, {Name: "off"}}, Workers: []trial.Worker{worker}}
	w := result.WorkerSummary{Worker: worker}
	r := rand.New(rand.NewPCG(7, 8))
	for repeat := 1; repeat <= repeats; repeat++ {
		order := []string{"control", "off"}
		if block := (repeat - 1) / 2; (repeat+block)%2 == 0 { // ABBA, then BAAB
			order = []string{"off", "control"}
		}
		drift := math.Exp(r.NormFloat64())
		for place, v := range order {
			rate := 100 * drift * math.Pow(later, float64(place))
			if v == "off" {
				rate *= variant
			}
			w.Trials = append(w.Trials, result.TrialSummary{
				Trial: trial.Trial{Workload: "w", Variant: v, Repeat: repeat}, Outcome: result.Measured,
				Metrics: result.Metrics{"write.iops": {Unit: result.PerSecond, Value: rate}},
			})
		}
	}
	return Summarize(p, []result.WorkerSummary{w}, time.Unix(0, 0)).Comparisons[0].Metrics["write.iops"]
}

func TestTheEffectOfTheOrderIsApartFromThatOfTheVariant(t *testing.T) {
	for _, variant := range []float64{0.5, 1, 3} {
		for _, later := range []float64{0.8, 1, 1.2} {
			c := ordered(t, 12, variant, later)
			if c.Order == nil || c.Order.Low == nil || math.Abs(c.Order.Median-later) > 1e-9 || math.Abs(c.Ratio.Median-variant) > 1e-9 {
				t.Errorf("variant %v, later %v: ratio %+v, order %+v", variant, later, c.Ratio, c.Order)
			}
		}
	}
	if c := ordered(t, 5, 2, 0.9); c.Order == nil || c.Order.Low != nil || math.Abs(c.Order.Median-0.9) > 1e-9 {
		t.Errorf("of 2 blocks there is an interval, or no estimate: %+v", c.Order)
	}
	if c := ordered(t, 1, 2, 0.9); c.Order != nil {
		t.Errorf("one repeat says nothing of the order: %+v", c.Order)
	}
}
