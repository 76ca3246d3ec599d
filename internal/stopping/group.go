package stopping

import (
	"math"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
	"storagebench.io/storagebench/internal/trial"
)

// group is a workload with the variants that are measured equally often.
type group struct {
	// cell of the group; its variant is empty if it stands for all of them.
	cell trial.Cell
	// step is how many repeats are added at once.
	step int
	// blocked reports that its trials are in blocks of two repeats.
	blocked bool
	trials  []trial.Trial
	stored  map[string]*result.TrialSummary
	failed  map[trial.Cell]bool
	// next trial of the group, and its place in the plan; nil if none is left.
	next  *trial.Trial
	place int
	// measured is how many repeats are stored, of every cell that has not failed.
	measured int
	// most is the highest number of repeats.
	most int
	// knee is the search that the trials are probes of, or nil.
	knee *trial.Knee
	// gates that are for the group, and end it.
	gates []trial.Gate
	// narrower is how many times narrower the widest interval must be.
	narrower float64
	// enough reports that the group needs no more. Why is empty if that is because a cell of it has
	// failed.
	enough bool
	why    result.StopReason
}

// groups of a plan, with what is stored of them.
func groups(p *trial.Plan, target string, stored map[string]*result.TrialSummary) []*group {
	var all []*group
	byCell := map[trial.Cell]*group{}
	for i, t := range p.Trials {
		cell := t.Cell()
		if w, _ := p.Workload(t.Workload); t.Block > 0 && w.Knee == nil {
			cell.Variant = "" // all variants together
		}
		g := byCell[cell]
		if g == nil {
			g = &group{cell: cell, step: 3, stored: stored, failed: map[trial.Cell]bool{}}
			if g.gates = gatesOf(p, target, cell); len(g.gates) > 0 {
				g.step = 1 // the ranks of gates allow for every look
			}
			if w, _ := p.Workload(t.Workload); w.Knee != nil {
				g.knee, g.step = w.Knee, 1
			}
			byCell[cell] = g
			all = append(all, g)
		}
		if t.Block > 0 && t.Block < t.Repeat && g.knee == nil {
			g.blocked, g.step = true, 2
		}
		g.trials = append(g.trials, t)
		if s := stored[t.ID]; s != nil && s.Outcome == result.Failed {
			g.failed[t.Cell()] = true
		}
		if stored[t.ID] == nil && g.next == nil && !g.failed[t.Cell()] {
			g.next, g.place = &p.Trials[i], i
		}
	}
	for _, g := range all {
		if g.next != nil && g.failed[g.next.Cell()] { // it failed later in the plan's order
			g.skipFailed(p)
		}
	}
	return all
}

// skipFailed moves next to the first trial whose cell has not failed.
func (g *group) skipFailed(p *trial.Plan) {
	g.next = nil
	for i, t := range p.Trials {
		if g.stored[t.ID] == nil && !g.failed[t.Cell()] && slices.Contains(g.trials, t) {
			g.next, g.place = &p.Trials[i], i
			return
		}
	}
}

// look decides at the first of its looks at which the group has enough, so that later trials,
// if there are any, change nothing.
func (g *group) look(stop *trial.Stop) {
	repeats := 0
	for _, t := range g.trials {
		repeats = max(repeats, t.Repeat)
	}
	g.measured = repeats
	for _, t := range g.trials {
		if g.stored[t.ID] == nil && !g.failed[t.Cell()] {
			g.measured = min(g.measured, t.Repeat-1)
		}
	}
	g.narrower, g.most = math.Inf(1), stop.Max
	for n := stop.Min; n <= g.measured; n++ {
		if n%g.step != 0 {
			continue
		}
		if len(g.failed) > 0 {
			g.enough = true // what is left of it has its minimum, and is not worth more
			return
		}
		if g.why = g.reached(stop, n); g.why != "" {
			g.enough = true
			return
		}
	}
}

// reached returns which rule for stopping the first n repeats satisfy, if they do, and notes how far
// they are from it.
func (g *group) reached(stop *trial.Stop, n int) result.StopReason {
	gates := g.lookAtGates(stop, n)
	if gates.decided > 0 && gates.open == 0 {
		return result.StopGates
	}
	if gates.open > 0 && stop.Gates == trial.GatesAlone {
		if gates.futile == gates.open {
			return result.StopFutile
		}
		g.narrower = gates.narrower
		return ""
	}
	if g.narrower = g.halfWidth(n) / stop.HalfWidth; g.narrower <= 1 {
		return result.StopHalfWidth
	}
	if gates.open > 0 { // whichever is nearer
		g.narrower = min(g.narrower, gates.narrower)
	}
	return ""
}

func (g *group) stopped(why result.StopReason) result.Stopped {
	return result.Stopped{Cell: g.cell, Repeats: g.measured, Reason: why}
}

// begun reports whether a step of the group has begun and not ended. The minimum need not end with a
// look: of what is not compared, nothing is torn apart by that.
func (g *group) begun(stop *trial.Stop) bool {
	if g.measured%g.step != 0 && (g.blocked || g.measured != stop.Min) {
		return true
	}
	return slices.ContainsFunc(g.trials, func(t trial.Trial) bool { return t.Repeat == g.measured+1 && g.stored[t.ID] != nil })
}

// later is the order of a group that is free to wait.
const later = 2

// order: 0 for a group whose step has begun above its minimum, 1 for one without its minimum.
func (g *group) order(stop *trial.Stop) int {
	switch {
	case g.measured < stop.Min:
		return 1
	case stop.BudgetSeconds > 0 && g.begun(stop):
		return 0
	default:
		return later
	}
}

// stepCost is about how many seconds the next step takes, up to the next look: as many as the trials so far.
func (g *group) stepCost() float64 {
	seconds, n := 0.0, 0
	cells := map[trial.Cell]bool{}
	for _, t := range g.trials {
		if s := g.stored[t.ID]; s != nil {
			seconds, n = seconds+s.Seconds, n+1
		}
		if !g.failed[t.Cell()] {
			cells[t.Cell()] = true
		}
	}
	if n == 0 {
		return 0
	}
	return seconds / float64(n) * float64((g.step-g.measured%g.step)*len(cells))
}

// score is how much uncertainty a second of the next step removes: the trials that are missing
// grow with the square of the half-width.
func (g *group) score(stop *trial.Stop) float64 {
	ratio := min(g.narrower, 100/stop.HalfWidth)
	return ratio * ratio / max(g.stepCost(), 1e-3)
}

// halfWidth of the widest interval after n repeats.
func (g *group) halfWidth(n int) float64 {
	rows := g.rows()
	if len(rows) == 0 {
		return math.Inf(1) // it has no rate
	}
	widest := 0.0
	for _, row := range rows {
		if g.blocked {
			widest = max(widest, g.ofBlocks(row, n))
		} else {
			widest = max(widest, g.ofMedians(row, n))
		}
	}
	return widest
}

// row is a number that the group's intervals are about: the rate of the first operation of the
// whole, or of a part.
type row struct{ part, metric string }

func (g *group) rows() []row {
	var rows []row
	for _, t := range g.trials {
		s := g.stored[t.ID]
		if s == nil || s.Outcome != result.Measured {
			continue
		}
		if name := Primary(s.Operations, s.Metrics); name != "" {
			rows = append(rows, row{metric: name})
		}
		for _, p := range s.Parts {
			if name := Primary(p.Operations, p.Metrics); name != "" {
				rows = append(rows, row{part: p.Name, metric: name})
			}
		}
		break
	}
	return rows
}

// Primary returns the metric that a workload's intervals are judged by: the rate of the operation
// that it is for. Empty: it has none.
func Primary(operations []string, metrics result.Metrics) string {
	for _, name := range report.Headlines(operations, metrics) {
		if strings.HasSuffix(name, ".iops") || strings.HasSuffix(name, ".rate") || strings.HasSuffix(name, ".bandwidth") {
			return name
		}
	}
	return ""
}

// value of a row in a trial; false if the trial has none, or only a bound.
func (r row) value(t *result.TrialSummary) (float64, bool) {
	if t == nil || t.Outcome != result.Measured {
		return 0, false
	}
	whole, ok := t.OfPart(r.part)
	if !ok {
		return 0, false
	}
	m, ok := whole.Metrics[r.metric]
	return m.Value, ok && !m.AtLeast && m.Value > 0
}

// ofMedians is the widest of the intervals of the cells' medians.
func (g *group) ofMedians(r row, n int) float64 {
	values := map[trial.Cell][]float64{}
	for _, t := range g.trials {
		if t.Repeat > n {
			continue
		}
		v, ok := r.value(g.stored[t.ID])
		if !ok {
			return math.Inf(1)
		}
		values[t.Cell()] = append(values[t.Cell()], v)
	}
	widest := 0.0
	for _, v := range values {
		half, ok := stats.HalfWidth(v, stats.Looks{Max: g.trials[len(g.trials)-1].Repeat, Spending: stats.Front})
		if !ok {
			return math.Inf(1)
		}
		widest = max(widest, half)
	}
	return widest
}

// ofBlocks is the widest of the half-widths of the differences between variants, by the spread of
// equal trials.
func (g *group) ofBlocks(r row, n int) float64 {
	cells, blocks := []string{}, map[string]map[int][]float64{}
	for _, t := range g.trials {
		if t.Repeat > n {
			continue
		}
		v, ok := r.value(g.stored[t.ID])
		if !ok {
			return math.Inf(1)
		}
		arm := t.Variant
		if blocks[arm] == nil {
			blocks[arm] = map[int][]float64{}
			cells = append(cells, arm)
		}
		blocks[arm][t.Block] = append(blocks[arm][t.Block], v)
	}
	widest := 0.0
	for i, a := range cells {
		for _, b := range cells[i+1:] {
			var pairs []stats.Block
			for k := 1; k <= n/2; k++ {
				if len(blocks[a][k]) != 2 || len(blocks[b][k]) != 2 {
					return math.Inf(1)
				}
				pairs = append(pairs, stats.Block{A: [2]float64(blocks[a][k]), B: [2]float64(blocks[b][k])})
			}
			if len(pairs) < stats.MinBlocks { // there is no interval yet
				return math.Inf(1)
			}
			widest = max(widest, stats.BlockHalfWidth(pairs))
		}
	}
	return widest
}
