package stopping

import (
	"math"
	"slices"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
	"storagebench.io/storagebench/internal/trial"
)

// gatesOf returns the gates of a cell of a target, if gates end workloads.
func gatesOf(p *trial.Plan, target string, cell trial.Cell) []trial.Gate {
	if p.Stop == nil || p.Stop.Gates == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Gates), func(g trial.Gate) bool { return !g.AppliesTo(target, cell) })
}

// gatesSeen is what a look at the gates of a group shows. A gate that no trial can decide, as its
// metric is not measured or only a bound of it is known, counts neither as decided nor as open.
type gatesSeen struct {
	decided, open int
	// futile are those of the open ones that no further trial can decide.
	futile int
	// narrower is how many times narrower the intervals must be to decide those that are open.
	narrower float64
}

// lookAtGates looks at the gates after n repeats. All must be decided at the same look: what ends the
// workload is what its report shows.
func (g *group) lookAtGates(stop *trial.Stop, n int) gatesSeen {
	var seen gatesSeen
	looks := stats.Looks{Max: stop.Max, Spending: stats.Front}
	for _, gate := range g.gates {
		for _, part := range g.partsWith(gate) {
			values, bounds := g.valuesOf(row{part: part, metric: gate.Metric}, n)
			d := stats.DecideGate(values, looks, gate.Limit, gate.AtMost)
			switch {
			case stats.OpenForBounds(gate, d, bounds):
			case d.Outcome != stats.Inconclusive:
				seen.decided++
			default:
				seen.open++
				if d.Futile {
					seen.futile++
				}
				if d.Narrower == 0 && !d.AtLimit { // there is no interval yet
					d.Narrower = math.Inf(1)
				}
				seen.narrower = max(seen.narrower, d.Narrower)
			}
		}
	}
	return seen
}

// partsWith returns the parts that a gate is for, as in the run's summary: the whole stands for its
// parts.
func (g *group) partsWith(gate trial.Gate) []string {
	var parts []string
	add := func(name string, metrics result.Metrics) {
		if _, ok := metrics[gate.Metric]; ok && (gate.Part == "" || gate.Part == name) && !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	for _, t := range g.trials {
		s := g.stored[t.ID]
		if s == nil || s.Outcome != result.Measured {
			continue
		}
		add("", s.Metrics)
		for _, p := range s.Parts {
			add(p.Name, p.Metrics)
		}
	}
	if slices.Contains(parts, "") {
		return []string{""}
	}
	return parts
}

// valuesOf returns what the first n repeats measured, in the plan's order, and how many of the values
// are only lower bounds.
func (g *group) valuesOf(r row, n int) (values []float64, bounds int) {
	for _, t := range g.trials {
		s := g.stored[t.ID]
		if t.Repeat > n || s == nil || s.Outcome != result.Measured {
			continue
		}
		whole, ok := s.OfPart(r.part)
		if !ok {
			continue
		}
		if m, ok := whole.Metrics[r.metric]; ok {
			values = append(values, m.Value)
			if m.AtLeast {
				bounds++
			}
		}
	}
	return values, bounds
}
