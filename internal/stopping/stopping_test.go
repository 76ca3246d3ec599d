package stopping

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// single is a plan of workloads without variants.
func single(stop trial.Stop, workloads ...string) *trial.Plan {
	p := &trial.Plan{Stop: &stop}
	for r := 1; r <= stop.Max; r++ {
		for _, w := range workloads {
			p.Trials = append(p.Trials, trial.Trial{ID: w + "." + string(rune('a'+r)), Workload: w, Repeat: r})
		}
	}
	return p
}

// blocked is a plan of one workload with two variants in blocks ABBA.
func blocked(stop trial.Stop) *trial.Plan {
	p := &trial.Plan{Stop: &stop}
	for r := 1; r <= stop.Max; r++ {
		arms := []string{"a", "b"}
		if r%2 == 0 {
			arms = []string{"b", "a"}
		}
		for _, arm := range arms {
			p.Trials = append(p.Trials, trial.Trial{ID: arm + string(rune('a'+r)), Workload: "w", Variant: arm, Repeat: r, Block: (r + 1) / 2})
		}
	}
	return p
}

func measured(t trial.Trial, iops float64) result.TrialSummary {
	return result.TrialSummary{
		Trial: t, Seconds: 10, Outcome: result.Measured, Operations: []string{"read"},
		Metrics: result.Metrics{"read.iops": {Unit: result.PerSecond, Value: iops}},
	}
}

// run runs the plan until it has enough, and returns what is stored then. A worker that was
// killed after any trial goes on in the same way: the decision depends on nothing else.
func run(t *testing.T, p *trial.Plan, measure func(trial.Trial) result.TrialSummary) ([]result.TrialSummary, []result.Stopped) {
	t.Helper()
	var done []result.TrialSummary
	for {
		d := Decide(p, "v", nil, done)
		if d.Next == nil {
			if !Complete(p, "v", nil, done) {
				t.Error("nothing is left, and it is not complete")
			}
			return done, d.Stopped
		}
		if Complete(p, "v", nil, done) {
			t.Fatalf("complete, and %s is left", d.Next.ID)
		}
		if slices.ContainsFunc(done, func(s result.TrialSummary) bool { return s.ID == d.Next.ID }) {
			t.Fatalf("%s is run twice", d.Next.ID)
		}
		done = append(done, measure(*d.Next))
	}
}

func TestAWorkloadEndsWhenItsIntervalIsNarrow(t *testing.T) {
	p := single(trial.Stop{Min: 6, Max: 30, HalfWidth: 0.05}, "steady", "noisy")
	random := rand.New(rand.NewPCG(1, 2))
	done, stopped := run(t, p, func(x trial.Trial) result.TrialSummary {
		sigma := map[string]float64{"steady": 0.01, "noisy": 0.4}[x.Workload]
		return measured(x, 1000*math.Exp(sigma*random.NormFloat64()))
	})
	counts := map[string]int{}
	for _, s := range done {
		counts[s.Workload]++
	}
	if counts["steady"] != 6 || counts["noisy"] != 30 {
		t.Errorf("ran %v", counts)
	}
	want := []result.Stopped{{Cell: trial.Cell{Workload: "steady"}, Repeats: 6, Reason: result.StopHalfWidth}}
	if !slices.Equal(stopped, want) {
		t.Errorf("stopped %+v", stopped)
	}
	if done[0].Workload == done[1].Workload {
		t.Error("the workloads do not alternate")
	}
}

func TestAnIntervalIsLookedAtAfterEveryThirdTrial(t *testing.T) {
	p := single(trial.Stop{Min: 6, Max: 30, HalfWidth: 0.05}, "w")
	// One that is far off is in the interval until the spending rank steps, at the 12th.
	values := []float64{100, 100, 100, 100, 100, 200, 100, 100, 100, 100, 100, 100, 100, 100}
	i := 0
	done, _ := run(t, p, func(x trial.Trial) result.TrialSummary { i++; return measured(x, values[i-1]) })
	if len(done) != 12 {
		t.Errorf("it ended after %d trials", len(done))
	}
}

// However large the difference between variants, it does not end a comparison; the spread of equal
// trials does.
func TestAComparisonEndsOnTheSpreadOfEqualTrials(t *testing.T) {
	for name, c := range map[string]struct {
		sigma, effect float64
		want          int
	}{
		"quiet, no effect":       {0.005, 1, 24}, // six blocks of four: fewer have no interval
		"quiet, a large effect":  {0.005, 2, 24},
		"noisy, a large effect":  {0.3, 5, 40},
		"noisy, no effect":       {0.3, 1, 40},
		"in between, any effect": {0.06, 1.5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 4))
			p := blocked(trial.Stop{Min: 6, Max: 20, HalfWidth: 0.05})
			p.Stop.Min = 6
			done, _ := run(t, p, func(x trial.Trial) result.TrialSummary {
				v := 1000 * math.Exp(c.sigma*random.NormFloat64())
				if x.Variant == "b" {
					v *= c.effect
				}
				return measured(x, v)
			})
			if len(done)%4 != 0 {
				t.Errorf("a block was torn apart: %d trials", len(done))
			}
			if c.want > 0 && len(done) != c.want {
				t.Errorf("%d trials, want %d", len(done), c.want)
			}
		})
	}
}

// The same noise with and without an effect ends at the same trial: the rule is blind to it.
func TestTheEffectDoesNotMoveTheEnd(t *testing.T) {
	lengths := map[float64][]int{}
	for _, effect := range []float64{1, 1.1, 3} {
		for seed := range uint64(20) {
			random := rand.New(rand.NewPCG(seed, 9))
			done, _ := run(t, blocked(trial.Stop{Min: 6, Max: 20, HalfWidth: 0.04}), func(x trial.Trial) result.TrialSummary {
				v := math.Exp(0.03 * random.NormFloat64())
				if x.Variant == "b" {
					v *= effect
				}
				return measured(x, v)
			})
			lengths[effect] = append(lengths[effect], len(done))
		}
	}
	if !slices.Equal(lengths[1], lengths[1.1]) || !slices.Equal(lengths[1], lengths[3]) {
		t.Errorf("the ends differ: %v", lengths)
	}
	if slices.Min(lengths[1]) == slices.Max(lengths[1]) {
		t.Error("every run ends at the same trial: the noise does not matter either")
	}
}

func TestABudgetIsSpentWhereTheIntervalIsWidest(t *testing.T) {
	p := single(trial.Stop{Min: 6, Max: 30, HalfWidth: 0.01, BudgetSeconds: 240}, "wide", "narrow")
	random := rand.New(rand.NewPCG(5, 6))
	done, stopped := run(t, p, func(x trial.Trial) result.TrialSummary {
		sigma := map[string]float64{"wide": 0.3, "narrow": 0.05}[x.Workload]
		return measured(x, 1000*math.Exp(sigma*random.NormFloat64()))
	})
	counts := map[string]int{}
	for _, s := range done {
		counts[s.Workload]++
	}
	if counts["wide"] <= counts["narrow"] || counts["narrow"] < 6 || len(done) != 24 {
		t.Errorf("ran %v in %d trials of 10 s with 240 s", counts, len(done))
	}
	if len(stopped) != 2 || stopped[0].Reason != result.StopBudget {
		t.Errorf("stopped %+v", stopped)
	}
}

func TestABudgetThatIsTooSmallLeavesTheMinimum(t *testing.T) {
	p := single(trial.Stop{Min: 6, Max: 30, HalfWidth: 0.001, BudgetSeconds: 1}, "w")
	random := rand.New(rand.NewPCG(5, 6))
	done, _ := run(t, p, func(x trial.Trial) result.TrialSummary { return measured(x, 100+random.Float64()) })
	if len(done) != 6 {
		t.Errorf("ran %d trials", len(done))
	}
}

// The least trials are as many as the spec says, also if the worker would look later.
func TestABudgetThatIsTooSmallLeavesALeastThatEndsBetweenTwoLooks(t *testing.T) {
	for least := 1; least <= 8; least++ {
		for _, c := range []struct {
			budget float64
			more   bool
		}{{1, false}, {float64(10 * (least + 3 - least%3)), true}, {float64(10*(least+3-least%3)) - 0.001, false}} {
			p := single(trial.Stop{Min: least, Max: 30, HalfWidth: 0.0001, BudgetSeconds: c.budget}, "w")
			random := rand.New(rand.NewPCG(5, 6))
			done, stopped := run(t, p, func(x trial.Trial) result.TrialSummary { return measured(x, 100+random.Float64()) })
			want := least
			if c.more {
				want += 3 - least%3
			}
			if len(done) != want || len(stopped) != 1 || stopped[0].Reason != result.StopBudget {
				t.Errorf("a least of %d, with %g s: %d trials of 10 s, want %d, stopped %+v", least, c.budget, len(done), want, stopped)
			}
		}
	}
}

func TestACellThatFailedIsMeasuredNoMore(t *testing.T) {
	p := blocked(trial.Stop{Min: 6, Max: 20, HalfWidth: 0.0001})
	random := rand.New(rand.NewPCG(5, 6))
	done, stopped := run(t, p, func(x trial.Trial) result.TrialSummary {
		s := measured(x, 100+random.Float64())
		if x.Variant == "b" && x.Repeat == 3 {
			s.Outcome = result.Failed
		}
		return s
	})
	counts := map[string]int{}
	for _, s := range done {
		counts[s.Variant]++
	}
	if counts["a"] != 6 || counts["b"] != 3 || len(stopped) != 0 {
		t.Errorf("ran %v, stopped %+v", counts, stopped)
	}
}

func TestWithoutARuleEveryTrialIsRun(t *testing.T) {
	p := single(trial.Stop{Min: 6, Max: 6}, "w")
	p.Stop = nil
	var done []result.TrialSummary
	for _, x := range p.Trials {
		if Complete(p, "v", nil, done) {
			t.Errorf("complete after %d trials", len(done))
		}
		done = append(done, measured(x, 1))
	}
	if !Complete(p, "v", nil, done) {
		t.Error("not complete")
	}
}

// Numbers of which only a bound is known, or that are missing, never look narrow.
func TestABoundIsNoInterval(t *testing.T) {
	p := single(trial.Stop{Min: 6, Max: 12, HalfWidth: 0.05}, "w")
	done, stopped := run(t, p, func(x trial.Trial) result.TrialSummary {
		s := measured(x, 100)
		s.Metrics["read.iops"] = result.Metric{Unit: result.PerSecond, Value: 100, AtLeast: x.Repeat == 2}
		return s
	})
	if len(done) != 12 || len(stopped) != 0 {
		t.Errorf("ran %d trials, stopped %v", len(done), stopped)
	}
}

func TestEveryPartMustBeNarrow(t *testing.T) {
	p := single(trial.Stop{Min: 6, Max: 12, HalfWidth: 0.05}, "w")
	done, _ := run(t, p, func(x trial.Trial) result.TrialSummary {
		s := measured(x, 100)
		s.Parts = []result.PartSummary{{
			Name: "log", Operations: []string{"write"},
			Metrics: result.Metrics{"write.bandwidth": {Unit: result.BytesPerSecond, Value: float64(100 + 50*(x.Repeat%3))}},
		}}
		return s
	})
	if len(done) != 12 {
		t.Errorf("ended after %d trials, although a part has a wide interval", len(done))
	}
}

func TestAWorkloadWithoutARateRunsToItsMaximum(t *testing.T) {
	p := single(trial.Stop{Min: 6, Max: 9, HalfWidth: 0.05}, "w")
	done, stopped := run(t, p, func(x trial.Trial) result.TrialSummary {
		return result.TrialSummary{Trial: x, Outcome: result.Measured}
	})
	if len(done) != 9 || len(stopped) != 0 {
		t.Errorf("ran %d trials, stopped %v", len(done), stopped)
	}
}
