package stats

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// maxGates is the number of gates of a run's summary: 16 of the spec on 256 rows.
const maxGates = 4096

// gates decides the plan's gates on the rows of a worker, or of all volumes of its target on its
// node.
func gates(p *trial.Plan, worker trial.Worker, rows []result.Row, decide func(trial.Gate, result.Row) result.Gate) []result.Gate {
	var out []result.Gate
	for _, g := range p.Gates {
		for _, cell := range p.Cells() {
			if !g.AppliesTo(worker.Target, cell) {
				continue
			}
			var parts []string
			for _, row := range rows {
				_, ok := row.Metrics[g.Metric]
				if ok && row.Workload == cell.Workload && row.Variant == cell.Variant && (g.Part == "" || row.Part == g.Part) {
					parts = append(parts, row.Part)
				}
			}
			if slices.Contains(parts, "") {
				parts = []string{""} // the whole stands for its parts
			}
			for _, part := range parts {
				row := rows[slices.IndexFunc(rows, func(r result.Row) bool {
					return r.Workload == cell.Workload && r.Variant == cell.Variant && r.Part == part
				})]
				out = append(out, decide(g, row))
			}
			if len(parts) == 0 {
				out = append(out, notMeasured(g, worker, cell, rows))
			}
		}
	}
	return out
}

// addGates keeps gates as long as there is room, and one that is missed also beyond.
func (f *Fold) addGates(all []result.Gate) {
	for _, g := range all {
		f.gatesOf[g.Outcome]++
		if len(f.gates) < maxGates || g.Outcome == result.GateMissed && len(f.gates) < 2*maxGates {
			f.gates = append(f.gates, g)
		}
	}
}

// valuesOf returns what the trials of a row measured, in the order in which they ran; and how many of
// them are only lower bounds.
func valuesOf(w *result.WorkerSummary, cell trial.Cell, part, metric string) (values []float64, bounds int) {
	for _, t := range w.Trials {
		t, ok := t.OfPart(part)
		if !ok || t.Cell() != cell || t.Outcome != result.Measured {
			continue
		}
		if m, ok := t.Metrics[metric]; ok {
			values = append(values, m.Value)
			if m.AtLeast {
				bounds++
			}
		}
	}
	return values, bounds
}

func newGate(g trial.Gate, target, node, variant, part, unit string) result.Gate {
	return result.Gate{
		Target: target, Node: node, Workload: g.Workload, Variant: variant, Part: part, Metric: g.Metric,
		Unit: unit, Limit: g.Limit, AtMost: g.AtMost, Text: g.Text, Outcome: result.GateInconclusive,
	}
}

// GateLooks is how often the gates of a plan are looked at: after each trial if they end
// workloads; else once, as the number of trials was fixed, or they were stopped by a rule that
// does not look at the limit.
func GateLooks(p *trial.Plan, trials int) Looks {
	if p.Stop != nil && p.Stop.Gates != "" && p.Stop.Max > p.Stop.Min {
		return Looks{Max: p.Stop.Max, Spending: Front}
	}
	return Looks{Max: trials, Spending: Once}
}

// onTrials decides gates on the trials of a worker.
func onTrials(p *trial.Plan, looks Looks, w *result.WorkerSummary) func(trial.Gate, result.Row) result.Gate {
	return func(g trial.Gate, row result.Row) result.Gate {
		values, bounds := valuesOf(w, trial.Cell{Workload: row.Workload, Variant: row.Variant}, row.Part, g.Metric)
		return decideRow(p, looks, g, row, values, bounds)
	}
}

// onVolumes decides gates on the values of each volume.
func onVolumes(p *trial.Plan, looks Looks, byKey map[replicaKey][]replica) func(trial.Gate, result.Row) result.Gate {
	return func(g trial.Gate, row result.Row) result.Gate {
		var perVolume [][]float64
		bounds, n := 0, 0
		for _, r := range byKey[replica{row: row}.key()] {
			var values []float64
			for _, m := range r.values[g.Metric].metrics() {
				values = append(values, m.Value)
				if n++; m.AtLeast {
					bounds++
				}
			}
			perVolume = append(perVolume, values)
		}
		if len(perVolume) == 1 && p.Volumes <= 1 {
			return decideRow(p, looks, g, row, perVolume[0], bounds)
		}
		return gateOf(g, row, DecideVolumeGate(perVolume, g.Limit, g.AtMost), n, bounds)
	}
}

// decideRow decides a gate on a row. looks are those of the plan's intervals, which remember their ranks.
func decideRow(p *trial.Plan, looks Looks, g trial.Gate, row result.Row, values []float64, bounds int) result.Gate {
	ofGate := GateLooks(p, len(values))
	if ofGate.Max == looks.Max && ofGate.Spending == looks.Spending {
		ofGate = looks
	}
	return gateOf(g, row, DecideGate(values, ofGate, g.Limit, g.AtMost), len(values), bounds)
}

// gateOf is the gate of a row after a decision on n trials, of which some are only bounds.
func gateOf(g trial.Gate, row result.Row, d GateDecision, n, bounds int) result.Gate {
	out := newGate(g, row.Target, row.Node, row.Variant, row.Part, row.Metrics[g.Metric].Unit)
	out.N, out.InvalidatedBy = n, report.Invalid(row, g.Metric)
	out.Value = &d.Interval.Median
	if e := row.Metrics[g.Metric]; !d.Interval.OK { // of values that are 0, volumes have no mean
		out.Value = &e.Median
	}
	if d.Interval.OK {
		out.Low, out.High = &d.Interval.Low, &d.Interval.High
	}
	out.Outcome, out.MoreTrials, out.MoreVolumes = result.GateOutcome(d.Outcome), d.MoreTrials, d.MoreVolumes
	if OpenForBounds(g, d, bounds) {
		out.Outcome, out.MoreTrials, out.MoreVolumes = result.GateInconclusive, 0, 0
	}
	if len(out.InvalidatedBy) > 0 {
		out.Outcome, out.MoreTrials, out.MoreVolumes = result.GateInconclusive, 0, 0
	}
	out.Sentence = gateSentence(out, d, bounds)
	return out
}

// OpenForBounds reports that so many values that are only lower bounds keep a gate from being decided:
// what was too fast to be measured is at least this much, which is enough to meet a minimum only.
func OpenForBounds(g trial.Gate, d GateDecision, bounds int) bool {
	return bounds > 0 && (g.AtMost || d.Outcome != Met)
}

// gateSentence says what a gate shows.
func gateSentence(g result.Gate, d GateDecision, bounds int) string {
	text := report.GateNumber(g) + "; " + report.GateLimit(g)
	switch {
	case len(g.InvalidatedBy) > 0:
		return text + "; " + strings.Join(g.InvalidatedBy, ", ") + " makes the number worthless"
	case g.Outcome != result.GateInconclusive:
		return text
	case bounds > 0:
		return fmt.Sprintf("%s; %d of %d trials were too fast to be measured", text, bounds, g.N)
	case g.MoreVolumes > 0 && !d.Interval.OK:
		return fmt.Sprintf("%s; an interval for the class needs %d volumes: measure %d more", text, MinVolumes, g.MoreVolumes)
	case g.MoreVolumes > 0:
		return fmt.Sprintf("%s; the interval contains the limit; about %d more volumes would decide", text, g.MoreVolumes)
	case d.AtLimit:
		return text + "; the median is at the limit, and no number of trials would decide"
	case !d.Interval.OK:
		return fmt.Sprintf("%s; an interval needs %d trials: measure %d more", text, MinTrials, d.MoreTrials)
	default:
		return fmt.Sprintf("%s; the interval contains the limit; about %d more trials would decide with 80 %% probability", text, d.MoreTrials)
	}
}

// notMeasured is a gate without a number.
func notMeasured(g trial.Gate, worker trial.Worker, cell trial.Cell, rows []result.Row) result.Gate {
	out := newGate(g, worker.Target, worker.Node, cell.Variant, g.Part, result.UnitOf(g.Metric))
	what, parts := g.Workload, map[string]bool{}
	var names []string
	for _, row := range rows {
		if row.Workload != cell.Workload || row.Variant != cell.Variant {
			continue
		}
		parts[row.Part] = true
		for _, name := range report.Headlines(row.Operations, row.Metrics) {
			if !slices.Contains(names, name) && len(names) < 6 {
				names = append(names, name)
			}
		}
	}
	if g.Part != "" {
		what += "/" + g.Part
	}
	out.Sentence = fmt.Sprintf("%s measured no %s", what, g.Metric)
	switch {
	case len(parts) == 0:
		out.Sentence = fmt.Sprintf("no trial of %s was measured", g.Workload)
	case len(names) > 0:
		out.Sentence += "; it measured " + strings.Join(names, ", ")
	}
	return out
}

// sortGates sorts those that are missed first, then those that are not decided, and otherwise leaves
// the order of the plan.
func sortGates(all []result.Gate) {
	order := map[result.GateOutcome]int{result.GateMissed: 0, result.GateInconclusive: 1, result.GateMet: 2}
	slices.SortStableFunc(all, func(a, b result.Gate) int { return cmp.Compare(order[a.Outcome], order[b.Outcome]) })
}
