package main

import (
	"fmt"
	"math"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
	"storagebench.io/storagebench/internal/stopping"
	"storagebench.io/storagebench/internal/trial"
)

// gateMetric is what the gates of a simulated worker are about.
const gateMetric = "sync.latency.p99"

// ended runs the trials of a worker as it would itself, until all gates are decided or there are most
// of them, and returns what the run's summary says of the gates.
func ended(y []float64, most int, limits ...float64) []result.Gate {
	p := &trial.Plan{
		Targets: []trial.Target{{Name: "v"}}, Workloads: []trial.Workload{{Name: "w"}},
		Workers: []trial.Worker{{Name: "v.n", Target: "v", Node: "n"}},
		Stop:    &trial.Stop{Min: stats.MinTrials, Max: most, HalfWidth: 0.05, Gates: trial.GatesAlone},
	}
	for i := range most {
		p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprint(i), Workload: "w", Repeat: i + 1})
	}
	for _, limit := range limits {
		p.Gates = append(p.Gates, trial.Gate{Workload: "w", Metric: gateMetric, Limit: limit, AtMost: true})
	}
	w := result.WorkerSummary{Worker: p.Workers[0]}
	for {
		d := stopping.Decide(p, "v", nil, w.Trials)
		if d.Next == nil {
			return stats.Summarize(p, []result.WorkerSummary{w}, time.Time{}).Gates
		}
		w.Trials = append(w.Trials, result.TrialSummary{
			Trial: *d.Next, Outcome: result.Measured, Operations: []string{"sync"},
			Metrics: result.Metrics{gateMetric: {Unit: result.Seconds, Value: y[d.Next.Repeat-1]}},
		})
	}
}

// addEndings has workers whose gates end them. The first limit is at the truth, so that every decision
// on it is wrong; the second, which is decided on the way, makes the end depend on both.
func addEndings(add adder) {
	for _, m := range single {
		if m.rho > 0 { // nothing is promised
			continue
		}
		truth := math.Exp(m.truth())
		wrong := func(gates []result.Gate) bool {
			for _, g := range gates {
				if g.Limit == truth && g.Outcome != result.GateInconclusive {
					return true
				}
			}
			return false
		}
		add(gateErrs, "a worker of up to 12 trials ends, "+m.name, 0.05, 0, func(s uint64) bool {
			return wrong(ended(trials(m, 12, s), 12, truth))
		})
		add(gateErrs, "a worker of up to 20 trials with two gates ends, "+m.name, 0.05, 0, func(s uint64) bool {
			return wrong(ended(trials(m, 20, s), 20, truth, truth*1.02))
		})
	}
}
