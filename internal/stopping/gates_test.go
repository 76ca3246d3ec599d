package stopping

import (
	"math/rand/v2"
	"slices"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
	"storagebench.io/storagebench/internal/trial"
)

const p99 = "read.latency.p99"

// gated is a plan of one workload with gates.
func gated(stop trial.Stop, gates ...trial.Gate) *trial.Plan {
	p := single(stop, "w")
	p.Workloads = []trial.Workload{{Name: "w"}}
	for _, g := range gates {
		g.Workload = "w"
		p.Gates = append(p.Gates, g)
	}
	return p
}

// withLatency is a trial with a steady rate and this p99.
func withLatency(t trial.Trial, seconds float64) result.TrialSummary {
	s := measured(t, 1000)
	s.Metrics[p99] = result.Metric{Unit: result.Seconds, Value: seconds}
	return s
}

func TestGatesEndAWorkload(t *testing.T) {
	alone := trial.Stop{Min: 6, Max: 30, HalfWidth: 0.05, Gates: trial.GatesAlone}
	orWidth, older := alone, alone
	orWidth.Gates, older.Gates = trial.GatesOrWidth, ""
	atMost := func(limit float64) trial.Gate { return trial.Gate{Metric: p99, Limit: limit, AtMost: true} }
	low := []float64{8, 8.1, 7.9, 8.2, 8, 8.3}
	// One beyond the limit is within the interval until the rank steps, at the 12th trial.
	once := []float64{8, 8.1, 12, 8.2, 8, 8.3}
	// As many within as beyond, so that no look decides, and after the 16th none can.
	around := []float64{8, 12, 8, 12, 8, 12}
	// One in six beyond 12, which a later look decides.
	mostly := []float64{8, 13, 8, 11, 8, 11}
	for name, c := range map[string]struct {
		stop   trial.Stop
		gates  []trial.Gate
		values []float64
		trials int
		why    result.StopReason
	}{
		"met":                              {alone, []trial.Gate{atMost(10)}, low, 6, result.StopGates},
		"missed":                           {alone, []trial.Gate{atMost(5)}, low, 6, result.StopGates},
		"met, and one that is missed":      {alone, []trial.Gate{atMost(10), atMost(5)}, low, 6, result.StopGates},
		"met at a later look":              {alone, []trial.Gate{atMost(10)}, once, 12, result.StopGates},
		"one is not decided":               {alone, []trial.Gate{atMost(20), atMost(10)}, around, 16, result.StopFutile},
		"one is futile, the other is not":  {alone, []trial.Gate{atMost(10), atMost(12)}, mostly, 18, result.StopFutile},
		"not decided, but narrow":          {orWidth, []trial.Gate{atMost(10)}, around, 6, result.StopHalfWidth},
		"decided, whatever the width":      {orWidth, []trial.Gate{atMost(10)}, low, 6, result.StopGates},
		"a plan of an older release":       {older, []trial.Gate{atMost(10)}, around, 6, result.StopHalfWidth},
		"of another target":                {alone, []trial.Gate{{Target: "other", Metric: p99, Limit: 10, AtMost: true}}, around, 6, result.StopHalfWidth},
		"a metric that is not there":       {alone, []trial.Gate{{Metric: "write.iops", Limit: 10}}, around, 6, result.StopHalfWidth},
		"beside one that is not there":     {alone, []trial.Gate{{Metric: "write.iops", Limit: 10}, atMost(10)}, once, 12, result.StopGates},
		"a part that is not there":         {alone, []trial.Gate{{Metric: p99, Part: "log", Limit: 10, AtMost: true}}, around, 6, result.StopHalfWidth},
		"on the rate, that is good enough": {alone, []trial.Gate{{Metric: "read.iops", Limit: 900}}, around, 6, result.StopGates},
	} {
		t.Run(name, func(t *testing.T) {
			i := 0
			done, stopped := run(t, gated(c.stop, c.gates...), func(x trial.Trial) result.TrialSummary {
				v := c.values[i%len(c.values)]
				if c.values[2] == once[2] && i >= len(c.values) {
					v = 8
				}
				i++
				return withLatency(x, v)
			})
			why := result.StopReason("")
			if len(stopped) > 0 {
				why = stopped[0].Reason
			}
			if len(done) != c.trials || why != c.why {
				t.Errorf("%d trials, stopped for %q; want %d, %q", len(done), why, c.trials, c.why)
			}
		})
	}
}

// What is at least this much meets a minimum, and decides no maximum.
func TestABoundDecidesAMinimumOnly(t *testing.T) {
	stop := trial.Stop{Min: 6, Max: 9, HalfWidth: 0.05, Gates: trial.GatesAlone}
	bound := func(x trial.Trial) result.TrialSummary {
		s := measured(x, 1000)
		s.Metrics.SetAtLeast("read.iops", result.PerSecond, 1000)
		return s
	}
	done, _ := run(t, gated(stop, trial.Gate{Metric: "read.iops", Limit: 900}), bound)
	if len(done) != 6 {
		t.Errorf("a minimum is met by bounds: %d trials", len(done))
	}
	if done, _ = run(t, gated(stop, trial.Gate{Metric: "read.iops", Limit: 2000, AtMost: true}), bound); len(done) != 9 {
		t.Errorf("a maximum cannot be decided: %d trials", len(done))
	}
}

// What ended a workload is what the run's summary says of its gates.
func TestTheSummaryDecidesAsTheWorkerDid(t *testing.T) {
	ended := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 3))
		p := gated(trial.Stop{Min: 6, Max: 20, HalfWidth: 0.05, Gates: trial.GatesAlone},
			trial.Gate{Metric: p99, Limit: 10, AtMost: true, Text: "10s"}, trial.Gate{Metric: p99, Limit: 9.5, AtMost: true, Text: "9.5s"})
		p.Targets, p.Workers = []trial.Target{{Name: "v"}}, []trial.Worker{{Name: "v.a", Target: "v", Node: "a"}}
		done, stopped := run(t, p, func(x trial.Trial) result.TrialSummary { return withLatency(x, 9+1.5*random.NormFloat64()) })
		w := result.WorkerSummary{Worker: p.Workers[0], Trials: done, Stopped: stopped}
		open := slices.ContainsFunc(stats.Summarize(p, []result.WorkerSummary{w}, done[0].EndedAt).Gates, func(g result.Gate) bool {
			return g.Outcome == result.GateInconclusive
		})
		if len(stopped) > 0 {
			ended++
		}
		if len(stopped) > 0 && open != (stopped[0].Reason == result.StopFutile) {
			t.Fatalf("seed %d: ended after %d trials for %s, gates open: %v", seed, len(done), stopped[0].Reason, open)
		}
	}
	if ended < 10 || ended > 190 {
		t.Errorf("%d of 200 ended early: that shows nothing", ended)
	}
}

func TestABudgetGoesToTheGateThatIsOpen(t *testing.T) {
	p := single(trial.Stop{Min: 6, Max: 60, HalfWidth: 0.05, Gates: trial.GatesAlone, BudgetSeconds: 240}, "decided", "open")
	for _, w := range []string{"decided", "open"} {
		p.Gates = append(p.Gates, trial.Gate{Workload: w, Metric: p99, Limit: 10, AtMost: true})
	}
	random := rand.New(rand.NewPCG(1, 4))
	done, _ := run(t, p, func(x trial.Trial) result.TrialSummary {
		return withLatency(x, map[string]float64{"decided": 5, "open": 9.9}[x.Workload]+random.NormFloat64())
	})
	counts := map[string]int{}
	for _, s := range done {
		counts[s.Workload]++
	}
	if counts["decided"] != 6 || counts["open"] != 18 {
		t.Errorf("ran %v", counts)
	}
}
