package stats

import (
	"maps"
	"math"
	"slices"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// compared is a comparison with what decides it.
type compared struct {
	result.Comparison
	// primary is the comparison of the metric that decides; nil: none does.
	primary *Comparison
	// replicate is what was replicated, if it was not blocks or trials: volume or round.
	replicate string
}

// comparisons compares each variant of a worker with the control.
func comparisons(p *trial.Plan, worker trial.Worker, w *result.WorkerSummary, keeps keeper) []compared {
	if !comparesVariants(p) {
		return nil
	}
	control := p.Variants[0].Name
	var all []compared
	for _, load := range p.Workloads {
		if load.Knee != nil {
			continue
		}
		for _, v := range p.Variants[1:] {
			all = append(all, compareArms(p, result.Comparison{
				Target: worker.Target, Workload: load.Name, Node: worker.Node, Variant: v.Name, Control: control,
			}, w, trial.Cell{Workload: load.Name, Variant: control}, trial.Cell{Workload: load.Name, Variant: v.Name}, keeps)...)
		}
	}
	return all
}

func comparesVariants(p *trial.Plan) bool {
	return len(p.Variants) > 1 && (p.Compare == nil || p.Compare.By != "target")
}

// compareArms compares a cell of a worker with another one, repeat by repeat, the whole and its parts. what names the arms. A trial that failed, or whose counterpart
// is missing, is in no pair.
func compareArms(p *trial.Plan, what result.Comparison, w *result.WorkerSummary, before, after trial.Cell, keeps keeper) []compared {
	var all []compared
	decided := false
	for _, part := range partsOf(w, before) {
		c := compared{Comparison: what}
		c.Part, c.Metrics = part, map[string]result.Change{}
		values := comparePart(&c, measured(w, before, part), measured(w, after, part), keeps)
		if len(c.Metrics) == 0 {
			continue
		}
		// The whole decides, and its parts only if it has no number of its own.
		if name := primary(p.Compare, c.Comparison); name != "" && (!decided || part == "") {
			decided = decided || part == ""
			o := optionsFor(p.Compare, name)
			compared := values[name].compare(p.Order, o)
			c.primary = &compared
			c.Primary = &result.Decision{Metric: name, MinEffect: o.minEffect()}
		}
		for name, v := range values {
			c.Metrics[name] = v.change(p.Order)
		}
		all = append(all, c)
	}
	return all
}

// primary returns the metric that decides a comparison, and "" if none does.
func primary(rule *trial.Compare, c result.Comparison) string {
	if rule != nil && rule.Workload != "" && rule.Workload != c.Workload {
		return ""
	}
	if rule != nil && rule.Metric != "" {
		if _, ok := c.Metrics[rule.Metric]; ok {
			return rule.Metric
		}
		return ""
	}
	for _, name := range report.Headlines(c.Operations, c.Metrics) {
		if _, ok := result.Better(name); ok {
			return name
		}
	}
	return ""
}

// optionsFor returns what matters of a metric.
func optionsFor(rule *trial.Compare, metric string) CompareOptions {
	direction, _ := result.Better(metric)
	o := CompareOptions{Higher: direction == result.Higher}
	if rule != nil {
		o.MinEffect = rule.MinEffect
	}
	return o
}

// comparePart collects the values of what the trials of both share, by repeat, and names
// their metrics in c.
func comparePart(c *compared, before, after map[int]placed, keeps keeper) map[string]*pairs {
	values := map[string]*pairs{}
	for _, repeat := range slices.Sorted(maps.Keys(before)) {
		a := before[repeat]
		if b, ok := after[repeat]; ok {
			c.Operations = addOperations(c.Operations, a.Operations)
			a.Metrics = a.Metrics.Without(func(name string) bool { return !keeps(c.Part, name) })
			addPair(values, a, b)
		}
	}
	for name := range values {
		c.Metrics[name] = result.Change{}
	}
	return values
}

// placed is a trial and its place in the order in which the worker ran them.
type placed struct {
	result.TrialSummary
	place int
}

// measured returns the measured trials of a cell, or of a part of it, by repeat.
func measured(w *result.WorkerSummary, cell trial.Cell, part string) map[int]placed {
	trials := map[int]placed{}
	for i, t := range w.Trials {
		if t, ok := t.OfPart(part); ok && t.Cell() == cell && t.Outcome == result.Measured {
			trials[t.Repeat] = placed{t, i}
		}
	}
	return trials
}

// pairs are the values of one metric, repeat by repeat.
type pairs struct {
	unit string
	all  []pair
	// bounds counts the pairs of which a value is only a lower bound.
	bounds int
}

// pair is what both arms measured in one repeat.
type pair struct {
	before, after float64
	block         int
	// later reports that the second arm's trial ran later than the first's.
	later bool
}

func addPair(values map[string]*pairs, before, after placed) {
	for name, a := range before.Metrics {
		b, ok := after.Metrics[name]
		if !ok || a.Unit != b.Unit {
			continue
		}
		if values[name] == nil {
			values[name] = &pairs{unit: a.Unit}
		}
		if a.AtLeast || b.AtLeast {
			values[name].bounds++
		}
		block := before.Block
		if block == 0 { // a plan of an older release
			block = (before.Repeat-1)/2 + 1
		}
		values[name].all = append(values[name].all, pair{a.Value, b.Value, block, after.place > before.place})
	}
}

func (p *pairs) arms() (before, after []float64) {
	for _, v := range p.all {
		before, after = append(before, v.before), append(after, v.after)
	}
	return before, after
}

// whole returns the pairs of complete blocks, two by two: the order of the second repeat is the
// reverse of the first's. A trial that failed voids its block.
func (p *pairs) whole() [][2]pair {
	var out [][2]pair
	for i := 1; i < len(p.all); i++ {
		if a, b := p.all[i-1], p.all[i]; a.block == b.block && a.later != b.later {
			out = append(out, [2]pair{a, b})
		}
	}
	return out
}

// Orders of a plan that are not in blocks of two repeats.
const (
	random     = "Random"
	sequential = "Sequential"
)

// compare decides, by what the plan randomised. Values that are not positive have no ratio.
func (p *pairs) compare(order string, o CompareOptions) Comparison {
	before, after := p.arms()
	_, okBefore := logs(before)
	_, okAfter := logs(after)
	if !okBefore || !okAfter || p.bounds > 0 {
		return judged(0, nil, 0, MinBlocks, o)
	}
	switch order {
	case sequential:
		return CompareArms(before, after, o)
	case random:
		d := make([]float64, len(before))
		for i := range d {
			d[i] = logRatio(after[i], before[i])
		}
		return judge(walsh(d), len(d), MinBlocks, o)
	}
	var blocks []Block
	for _, b := range p.whole() {
		blocks = append(blocks, Block{
			A: [2]float64{b[0].before, b[1].before}, B: [2]float64{b[0].after, b[1].after}, BFirst: !b[0].later,
		})
	}
	return CompareBlocks(blocks, o)
}

// change estimates what changed, with intervals of what the plan randomised.
func (p *pairs) change(order string) result.Change {
	before, after := p.arms()
	c := result.Change{Unit: p.unit, Pairs: len(p.all), Control: Median(before), Variant: Median(after)}
	if c.Bounds = p.bounds; c.Bounds > 0 {
		return c
	}
	c.Difference = p.difference(order)
	compared := p.compare(order, CompareOptions{})
	if order != sequential {
		c.Blocks = compared.Units
	}
	x, okBefore := logs(before)
	y, okAfter := logs(after)
	if !okBefore || !okAfter {
		return c
	}
	ratio := result.Interval{Median: compared.Ratio}
	if compared.Units == 0 { // a single repeat, or blocks that are not whole
		for i := range x {
			y[i] -= x[i]
		}
		ratio.Median = math.Exp(Median(y))
	}
	if compared.OK {
		ratio.Low, ratio.High = &compared.Low, &compared.High
	}
	if ratio.Median > 0 && !math.IsInf(ratio.Median, 0) && (!compared.OK || !math.IsInf(compared.High, 0)) {
		c.Ratio = &ratio
	}
	if o := compared.Order; o.N > 0 && !math.IsInf(o.Median, 0) {
		c.Order = &result.Interval{Median: o.Median}
		if o.OK && !math.IsInf(o.High, 0) {
			c.Order.Low, c.Order.High = &o.Low, &o.High
		}
	}
	return c
}

// difference is the shift in the metric's unit.
func (p *pairs) difference(order string) result.Interval {
	before, after := p.arms()
	var d []float64
	for i := range before {
		d = append(d, after[i]-before[i])
	}
	out := result.Interval{Median: Median(d)}
	var c contrasts
	switch order {
	case sequential:
		c = shifts(before, after)
	case random:
		c = walsh(d)
	default:
		d = nil
		for _, b := range p.whole() {
			d = append(d, (b[0].after-b[0].before)/2+(b[1].after-b[1].before)/2)
		}
		if len(d) == 0 {
			return out
		}
		c = walsh(d)
	}
	out.Median = c.estimate()
	if low, high, ok := c.interval(1 - Confidence); ok {
		out.Low, out.High = &low, &high
	}
	return out
}

// interval is the median of values with its distribution-free interval at a fixed number of them.
func interval(values []float64) result.Interval {
	i := result.Interval{Median: Median(values)}
	if low, high, ok := MedianInterval(values, Confidence); ok {
		i.Low, i.High = &low, &high
	}
	return i
}

// union appends to all the elements of more that it lacks.
func union(all, more []string) []string {
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
