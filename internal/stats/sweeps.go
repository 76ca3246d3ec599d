package stats

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// SweepUnits is the fewest repeats, or blocks of two, with which one of so many points can be told from
// another: the best is chosen by the same numbers, so that every pair counts.
func SweepUnits(points int) int { return BlocksFor(points * (points - 1) / 2) }

// sweeps are the curves of the rows of a worker, or of one target on one node: one for each sweep of
// the plan. w are the trials; nil: the rows are made of several volumes, and no point is told from another.
func sweeps(p *trial.Plan, worker trial.Worker, rows []result.Row, w *result.WorkerSummary) []result.Sweep {
	var out []result.Sweep
	for _, s := range p.Sweeps {
		c := &curve{plan: p, rows: rows, worker: w, Sweep: result.Sweep{
			Target: worker.Target, Node: worker.Node, Workload: s.Workload, Variant: s.Variant, Parameters: s.Parameters,
		}}
		for _, at := range s.Points {
			c.Points = append(c.Points, result.SweepPoint{Workload: at.Workload, Variant: at.Variant, Values: at.Values})
		}
		c.fill()
		out = append(out, c.Sweep)
	}
	return out
}

// sweepsAcross are the curves of rows over several volumes.
func sweepsAcross(p *trial.Plan, rows []result.Row) []result.Sweep {
	var out []result.Sweep
	var seen []trial.Worker
	for _, w := range p.Workers {
		at := trial.Worker{Target: w.Target, Node: w.Node}
		if w.Volume == 0 || slices.Contains(seen, at) {
			continue
		}
		seen = append(seen, at)
		here := slices.DeleteFunc(slices.Clone(rows), func(r result.Row) bool { return r.Target != w.Target || r.Node != w.Node })
		out = append(out, sweeps(p, at, here, nil)...)
	}
	return out
}

// curve is a sweep that is being made.
type curve struct {
	result.Sweep
	plan   *trial.Plan
	rows   []result.Row
	worker *result.WorkerSummary
	// qualified are the verdicts that qualify the number of each point.
	qualified [][]string
}

func (c *curve) fill() {
	c.qualified = make([][]string, len(c.Points))
	for i := range c.Points {
		c.point(i)
	}
	c.best()
	if c.Best == nil {
		c.Sentence = fmt.Sprintf("no point of %s has a number that stands", c.Workload)
		return
	}
	c.ties()
	c.Sentence = c.sentence()
}

// point fills in what was measured at a point.
func (c *curve) point(i int) {
	p := &c.Points[i]
	at := slices.IndexFunc(c.rows, func(r result.Row) bool {
		return r.Workload == p.Workload && r.Variant == p.Variant && r.Part == ""
	})
	if at < 0 {
		return
	}
	row := c.rows[at]
	p.N = row.N
	if c.Metric == "" {
		c.choose(row)
	}
	p.Estimate, p.Latency = intervalOf(row, c.Metric), intervalOf(row, c.Latency)
	p.InvalidatedBy, c.qualified[i] = report.Invalid(row, c.Metric), report.Qualified(row, c.Metric)
}

// choose chooses the metric that decides, from the first point that was measured: that of the
// spec's compare.primary, or the row's first headline; and the p99 of the same operation.
func (c *curve) choose(row result.Row) {
	name := ""
	if rule := c.plan.Compare; rule != nil && rule.Metric != "" {
		name = rule.Metric
	} else if all := report.Headlines(row.Operations, row.Metrics); len(all) > 0 {
		name = all[0]
	}
	if e, ok := row.Metrics[name]; ok {
		c.Metric, c.Unit = name, e.Unit
		if p99 := report.OperationOf(row, name) + ".latency.p99"; p99 != name {
			if _, ok := row.Metrics[p99]; ok {
				c.Latency = p99
			}
		}
	}
}

func intervalOf(row result.Row, metric string) *result.Interval {
	e, ok := row.Metrics[metric]
	if !ok || metric == "" || e.AtLeast {
		return nil
	}
	return &result.Interval{Median: e.Median, Low: e.Low, High: e.High}
}

func (c *curve) best() {
	direction, _ := result.Better(c.Metric)
	for i, p := range c.Points {
		if p.Estimate == nil || len(p.InvalidatedBy) > 0 {
			continue
		}
		if c.Best == nil {
			c.Best = new(i)
			continue
		}
		best := c.Points[*c.Best].Estimate.Median
		if direction == result.Higher && p.Estimate.Median > best || direction != result.Higher && p.Estimate.Median < best {
			c.Best = new(i)
		}
	}
}

// ties marks the points that cannot be told from the best. What one repeat, or one block of two,
// measured at both is a difference. The best was chosen by the same trials, so a point is told from it
// only if Bonferroni's correction for every pair of points lets it.
func (c *curve) ties() {
	pairs := len(c.Points) * (len(c.Points) - 1) / 2
	for i := range c.Points {
		p := &c.Points[i]
		if i == *c.Best || p.Estimate == nil || len(p.InvalidatedBy) > 0 {
			continue
		}
		p.Tied = c.worker == nil || c.p(c.Points[*c.Best], *p)*float64(pairs) > 1-Confidence
	}
}

// p is the p value of no difference between two points.
func (c *curve) p(a, b result.SweepPoint) float64 {
	first, second := c.values(a), c.values(b)
	if c.plan.Order == sequential {
		var x, y []float64
		for _, unit := range first {
			x = append(x, unit...)
		}
		for _, unit := range second {
			y = append(y, unit...)
		}
		if len(x) == 0 || len(y) == 0 {
			return 1
		}
		return shifts(x, y).p()
	}
	var d []float64
	for unit, x := range first {
		if y := second[unit]; len(y) == len(x) {
			d = append(d, mean(y)-mean(x))
		}
	}
	if len(d) == 0 {
		return 1
	}
	return walsh(d).p()
}

// values of a point's trials, in logarithms, by what was randomised: the repeat, or the block of two
// repeats of variants.
func (c *curve) values(at result.SweepPoint) map[int][]float64 {
	out := map[int][]float64{}
	for repeat, t := range measured(c.worker, trial.Cell{Workload: at.Workload, Variant: at.Variant}, "") {
		m, ok := t.Metrics[c.Metric]
		y, positive := logs([]float64{m.Value})
		if !ok || m.AtLeast || !positive {
			continue
		}
		unit := repeat
		if at.Variant != "" && c.Variant == "" && t.Block > 0 {
			unit = t.Block
		}
		out[unit] = append(out[unit], y...)
	}
	return out
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

func (c *curve) sentence() string {
	best := c.Points[*c.Best]
	text := fmt.Sprintf("%s is best with %s: %s %s", c.Workload, report.Setting(c.Sweep, best), report.MetricName(c.Metric), report.Value(best.Estimate.Median, c.Unit))
	if e := best.Estimate; e.Low != nil && e.High != nil {
		text += fmt.Sprintf(" (95 %% interval %s–%s)", report.Value(*e.Low, c.Unit), report.Value(*e.High, c.Unit))
	}
	if best.Latency != nil {
		text += ", p99 " + report.Seconds(best.Latency.Median)
	}
	text += worth(nil, c.qualified[*c.Best])
	var tied, worse []int
	invalid, unmeasured := 0, 0
	for i, p := range c.Points {
		switch {
		case len(p.InvalidatedBy) > 0:
			invalid++
		case p.Estimate == nil:
			unmeasured++
		case p.Tied:
			tied = append(tied, i)
		case i != *c.Best:
			worse = append(worse, i)
		}
	}
	switch {
	case len(c.Points) == 1:
	case len(tied) == 0 && invalid+unmeasured == len(c.Points)-1:
		text += "; no other setting has a number to compare it with"
	case len(tied) == 0 && invalid+unmeasured > 0:
		text += "; the others that count are worse" + c.ofSome(worse)
	case len(tied) == 0:
		text += "; every other setting is worse" + c.ofSome(worse)
	case c.worker == nil:
		text += "; of several volumes, no setting is told from another"
	default:
		text += "; cannot be told from it: " + c.each(tied)
		if units := SweepUnits(len(c.Points)); best.N < units {
			text += fmt.Sprintf(" (%d settings need %d trials each to be told apart)", len(c.Points), units)
		}
	}
	if unmeasured > 0 {
		text += fmt.Sprintf("; of %d settings %d were not measured", len(c.Points), unmeasured)
	}
	if invalid > 0 {
		text += fmt.Sprintf("; of %d settings %d have numbers that do not count", len(c.Points), invalid)
	}
	return text
}

// each names points, each with the verdicts that qualify it, which are said once if all have the same.
func (c *curve) each(points []int) string {
	alike := len(points) > 1 && !slices.ContainsFunc(points, func(i int) bool { return !slices.Equal(c.qualified[i], c.qualified[points[0]]) })
	var names []string
	for _, i := range points {
		name := report.Setting(c.Sweep, c.Points[i])
		if !alike {
			name += worth(nil, c.qualified[i])
		}
		names = append(names, name)
	}
	text := strings.Join(names, "; ")
	if alike && len(c.qualified[points[0]]) > 0 {
		text += " [each qualified: " + strings.Join(c.qualified[points[0]], ", ") + "]"
	}
	return text
}

// ofSome says of how many points the numbers are qualified, and by which verdicts: they may be why these are worse.
func (c *curve) ofSome(points []int) string {
	n := 0
	var names []string
	for _, i := range points {
		if len(c.qualified[i]) > 0 {
			n, names = n+1, union(names, c.qualified[i])
		}
	}
	switch {
	case n == 0:
		return ""
	case n == len(points):
		return worth(nil, names)
	default:
		return fmt.Sprintf(" [%d of them qualified: %s]", n, strings.Join(names, ", "))
	}
}

// worth says in brackets which verdicts invalidate a number, and which qualify it; nothing if there are none.
func worth(invalid, qualified []string) string {
	var parts []string
	if len(invalid) > 0 {
		parts = append(parts, "invalid: "+strings.Join(invalid, ", "))
	}
	if len(qualified) > 0 {
		parts = append(parts, "qualified: "+strings.Join(qualified, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return " [" + strings.Join(parts, "; ") + "]"
}
