package knee

import (
	"math"
	"math/rand/v2"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/verdict"
)

// search runs a search against storage and returns its answer and its probes. It decides from the probes
// alone, as a worker does that was killed after any of them.
func search(s Search, probe func(rate int64, n int) Probe) (Answer, []Probe) {
	var probes []Probe
	for {
		a := s.Decide(probes)
		if a.Next == 0 {
			return a, probes
		}
		p := probe(a.Next, len(probes))
		p.Rate = a.Next
		probes = append(probes, p)
	}
}

// throttle is storage that does so many operations and no more: below, it answers in a tenth of the limit.
func throttle(limit float64) func(int64, int) Probe {
	return func(rate int64, _ int) Probe {
		if float64(rate) > limit {
			return Probe{Over: true}
		}
		return Probe{Ratio: 0.1}
	}
}

func TestAThrottleIsFoundWithinFivePercent(t *testing.T) {
	s := Search{From: 50, To: 10000, Probes: 40}
	for _, limit := range []float64{60, 300, 800, 2500, 9900} {
		a, probes := search(s, throttle(limit))
		if a.Outcome != Found || float64(a.Lower) > limit || float64(a.Upper) <= limit || float64(a.Upper) > 1.05*float64(a.Lower) {
			t.Errorf("%g: %+v", limit, a)
		}
		if len(probes) > 13 {
			t.Errorf("%g: %d probes", limit, len(probes))
		}
	}
}

func TestAKneeOutsideTheRangeIsABound(t *testing.T) {
	s := Search{From: 100, To: 1000, Probes: 20}
	below, probes := search(s, throttle(50))
	if below != (Answer{Outcome: BelowRange, Upper: 100}) || len(probes) != 2 {
		t.Errorf("below: %+v after %d probes", below, len(probes))
	}
	above, probes := search(s, throttle(5000))
	if above != (Answer{Outcome: AboveRange, Lower: 1000}) || len(probes) != 3 {
		t.Errorf("above: %+v after %d probes", above, len(probes))
	}
}

func TestProbesAreBounded(t *testing.T) {
	a, probes := search(Search{From: 1, To: 1000000, Probes: 6}, throttle(300))
	if a.Outcome != Unfinished || len(probes) != 6 || a.Lower > 300 || a.Upper <= 300 {
		t.Errorf("%+v after %d probes", a, len(probes))
	}
}

func TestOneDisturbedProbeMovesNothing(t *testing.T) {
	s := Search{From: 50, To: 10000, Probes: 40}
	want, _ := search(s, throttle(800))
	for disturbed := range 12 {
		got, _ := search(s, func(rate int64, n int) Probe {
			if n == disturbed {
				return Probe{Over: true, Disturbed: true}
			}
			return throttle(800)(rate, n)
		})
		if got != want {
			t.Errorf("probe %d: %+v, want %+v", disturbed, got, want)
		}
	}
}

func TestARateThatIsAlwaysDisturbedHasNoAnswer(t *testing.T) {
	a, probes := search(Search{From: 50, To: 10000, Probes: 40}, func(rate int64, n int) Probe {
		if rate > 500 && rate < 1000 {
			return Probe{Over: true, Disturbed: true}
		}
		return throttle(700)(rate, n)
	})
	if a.Outcome != Disturbed || len(probes) > 12 {
		t.Errorf("%+v after %d probes", a, len(probes))
	}
}

// One trial that is far too slow although nothing was seen to disturb it is outvoted at the end.
func TestAnOddProbeIsOutvoted(t *testing.T) {
	s := Search{From: 50, To: 10000, Probes: 60}
	for odd := range 11 {
		a, _ := search(s, func(rate int64, n int) Probe {
			if n == odd && rate > 50 {
				return Probe{Over: true, Ratio: 5}
			}
			return throttle(800)(rate, n)
		})
		if a.Outcome != Found || a.Lower > 800 || a.Upper <= 800 {
			t.Errorf("probe %d: %+v", odd, a)
		}
	}
}

// Latency that grows with load, with noise of 10 %: the answer is near the rate at which the median latency
// is the limit.
func TestTheKneeOfAQueueIsFoundDespiteNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const runs = 200
	good := 0
	for range runs {
		a, _ := search(Search{From: 50, To: 5000, Probes: 60}, func(rate int64, _ int) Probe {
			ratio := 0.1 / max(1e-3, 1-float64(rate)/1000) * math.Exp(0.1*random.NormFloat64())
			return Probe{Over: ratio > 1, Ratio: ratio}
		})
		if a.Outcome == Found && float64(a.Lower) > 900/1.06 && float64(a.Upper) < 900*1.06 {
			good++
		}
	}
	if good < runs*95/100 {
		t.Errorf("%d of %d are near", good, runs)
	}
}

func TestRatesOutsideTheRangeAreNotProbes(t *testing.T) {
	s := Search{From: 100, To: 1000, Probes: 20}
	if a := s.Decide([]Probe{{Rate: 5, Over: true}, {Rate: 50000}}); a.Next != 100 {
		t.Errorf("%+v", a)
	}
}

// Nothing is known of a promise from a probe that did not measure it: the storage is not accused.
func TestAProbeWithoutTheMetricSaysNothing(t *testing.T) {
	k := trial.Knee{Metric: "sync.latency.p99", Limit: 0.01}
	trials := []*result.TrialSummary{
		{Trial: trial.Trial{Rate: 100}, Outcome: result.Measured, Metrics: result.Metrics{"read.latency.p99": {Value: 1}}},
		{Trial: trial.Trial{Rate: 200}, Outcome: result.Measured, Verdicts: []result.Verdict{{Name: verdict.Overloaded}}},
		{Trial: trial.Trial{Rate: 300}, Outcome: result.Failed},
	}
	if got := Of(k, trials); len(got) != 1 || got[0].Rate != 200 || !got[0].Over {
		t.Errorf("probes %+v, want that of 200 per second, which was overloaded", got)
	}
}
