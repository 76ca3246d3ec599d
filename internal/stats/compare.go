package stats

import (
	"maps"
	"math"
	"slices"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// comparisons compares each variant of a worker with the control, pair by pair. A pair
// is the two trials of one repeat, which the plan puts side by side in alternating
// order, so that a drift of the machine affects both and cancels out. A trial that
// failed, or whose counterpart is missing, is in no pair.
func comparisons(p *trial.Plan, worker trial.Worker, w *result.WorkerSummary) []result.Comparison {
	if len(p.Variants) < 2 {
		return nil
	}
	control := p.Variants[0].Name
	var all []result.Comparison
	for _, load := range p.Workloads {
		for _, v := range p.Variants[1:] {
			before := trial.Cell{Workload: load.Name, Variant: control}
			for _, part := range partsOf(w, before) {
				c := result.Comparison{
					Target: worker.Target, Workload: load.Name, Part: part, Node: worker.Node, Variant: v.Name, Control: control,
					Metrics: map[string]result.Change{},
				}
				comparePart(&c, measured(w, before, part), measured(w, trial.Cell{Workload: load.Name, Variant: v.Name}, part))
				if len(c.Metrics) > 0 {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// comparePart adds the metrics that the trials of the control and of the variant share, by
// repeat.
func comparePart(c *result.Comparison, before, after map[int]placed) {
	values := map[string]*pairs{}
	for _, repeat := range slices.Sorted(maps.Keys(before)) {
		a := before[repeat]
		if b, ok := after[repeat]; ok {
			c.Operations = union(c.Operations, a.Operations)
			addPair(values, a, b)
		}
	}
	for name, v := range values {
		c.Metrics[name] = v.change()
	}
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

// pairs are the values of one metric, pair by pair.
type pairs struct {
	unit          string
	before, after []float64
	repeats       []int
	// later reports of each pair that the variant's trial was the later one.
	later []bool
	// bounds counts the pairs of which a value is only a lower bound.
	bounds int
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
		values[name].before = append(values[name].before, a.Value)
		values[name].after = append(values[name].after, b.Value)
		values[name].repeats = append(values[name].repeats, before.Repeat)
		values[name].later = append(values[name].later, after.place > before.place)
	}
}

func (p *pairs) change() result.Change {
	c := result.Change{Unit: p.unit, Pairs: len(p.before), Control: Median(p.before), Variant: Median(p.after)}
	if c.Bounds = p.bounds; c.Bounds > 0 {
		return c
	}
	var ratios, differences []float64
	for i, a := range p.before {
		differences = append(differences, p.after[i]-a)
		if a > 0 && p.after[i] >= 0 {
			ratios = append(ratios, p.after[i]/a)
		}
	}
	c.Difference = interval(differences)
	if len(ratios) == len(p.before) {
		ratio := ratioInterval(ratios)
		c.Ratio, c.Order = &ratio, p.order(ratios)
	}
	return c
}

// order estimates what the order within a repeat does, from the ratios of variant to control
// of all pairs. The plan reverses the order in every other repeat. So in a block of two, what
// the variant changes is in both ratios and cancels out, and the order's effect is in one of
// them and against the other.
func (p *pairs) order(ratios []float64) *result.Interval {
	var effects []float64
	for i := 1; i < len(ratios); i++ {
		if (p.repeats[i]-1)/2 != (p.repeats[i-1]-1)/2 || p.later[i] == p.later[i-1] {
			continue
		}
		last, first := ratios[i], ratios[i-1]
		if p.later[i-1] {
			last, first = first, last
		}
		if first > 0 {
			effects = append(effects, math.Sqrt(last/first))
		}
	}
	if len(effects) == 0 {
		return nil
	}
	order := ratioInterval(effects)
	return &order
}

// ratioInterval is interval in log space, where between twice as much and half as much is
// no change, and the ratio of B to A is 1 over that of A to B. Order statistics are the same
// there; only the middle of two ratios is another: their geometric mean.
func ratioInterval(ratios []float64) result.Interval {
	i := interval(ratios)
	if mid := len(ratios) / 2; mid > 0 && len(ratios)%2 == 0 {
		s := slices.Sorted(slices.Values(ratios))
		i.Median = math.Sqrt(s[mid-1]) * math.Sqrt(s[mid]) // which may be 0
	}
	return i
}

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
