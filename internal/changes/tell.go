package changes

import (
	"math"
	"slices"
)

// MinBefore is how many numbers must come before a change that is told: with fewer, two that
// happen to be nearly equal make anything that follows significant.
const MinBefore = 5

// Kind of a change.
type Kind string

// Kinds.
const (
	// Step: the level is another from one number to the next.
	Step Kind = "Step"
	// Trend: a straight line through both levels fits better than the two levels do.
	Trend Kind = "Trend"
)

// Change is a change of the level that is worth telling.
type Change struct {
	Kind Kind
	// Index is the first number of the new level, and Runs how many numbers that level has.
	Index, Runs int
	// From and To are the means of the levels before and since.
	From, To float64
	// Stands reports that the series has not returned to the level before. A return needs two
	// numbers to be believed.
	Stands bool
}

// Relative is the change relative to the level before: -0.2 is 20 % less.
func (c Change) Relative() float64 { return relative(c.From, c.To) }

func relative(from, to float64) float64 {
	if from == to {
		return 0
	}
	return (to - from) / math.Abs(from)
}

// Tell returns the changes of a series that are at least as large as minChange (0.03 is 3 %).
// tooShort reports that there are too few numbers for any.
func Tell(series []float64, minChange float64) (told []Change, tooShort bool) {
	if len(series) <= MinBefore {
		return nil, true
	}
	levels := levelsOf(series, minChange)
	for i := 1; i < len(levels); i++ {
		before, after := levels[i-1], levels[i]
		c := Change{Kind: Step, Index: after.start, Runs: after.end - after.start, From: before.mean, To: after.mean}
		if after.start < MinBefore || !(math.Abs(c.Relative()) >= minChange) {
			continue
		}
		if drifts(series[before.start:after.end], after.start-before.start) {
			c.Kind = Trend
			if n := len(told); n > 0 && told[n-1].Kind == Trend && told[n-1].To == c.From && (told[n-1].Relative() < 0) == (c.Relative() < 0) {
				told[n-1].To, told[n-1].Runs = c.To, told[n-1].Runs+c.Runs
				continue
			}
		}
		told = append(told, c)
	}
	if len(told) == 0 {
		return nil, false
	}
	now := present(levels)
	for i := range told {
		moved := relative(told[i].From, now)
		told[i].Stands = math.Abs(moved) >= minChange && (moved < 0) == (told[i].Relative() < 0)
		if told[i].Index+told[i].Runs == len(series) {
			told[i].Stands = true // nothing has come since
		}
	}
	return told, false
}

// level is a piece of a series without a change point.
type level struct {
	start, end int
	mean       float64
}

// levelsOf returns the levels of a series, without those of a single number after which the
// series returned to where it was: that is an outlier and no change.
func levelsOf(series []float64, minChange float64) []level {
	var starts []int
	for _, p := range Detect(series) {
		starts = append(starts, p.Index)
	}
	for i := 0; i+1 < len(starts); i++ {
		from := 0
		if i > 0 {
			from = starts[i-1]
		}
		to := len(series)
		if i+2 < len(starts) {
			to = starts[i+2]
		}
		before, after := mean(series[from:starts[i]]), mean(series[starts[i+1]:to])
		if starts[i+1]-starts[i] == 1 && math.Abs(relative(before, after)) < minChange {
			starts = slices.Delete(starts, i, i+2)
			i--
		}
	}
	start := 0
	var out []level
	for _, end := range append(starts, len(series)) {
		out = append(out, level{start: start, end: end, mean: mean(series[start:end])})
		start = end
	}
	return out
}

// present is the level that the series has now. One number alone is not believed.
func present(levels []level) float64 {
	last := levels[len(levels)-1]
	if last.end-last.start < 2 && len(levels) > 1 {
		last = levels[len(levels)-2]
	}
	return last.mean
}

// drifts reports whether a straight line fits two neighbouring levels better than their means do.
func drifts(values []float64, at int) bool {
	if at < 2 || len(values)-at < 2 {
		return false
	}
	steps := float64(at)*variance(values[:at]) + float64(len(values)-at)*variance(values[at:])
	n := float64(len(values))
	middle, m := (n-1)/2, mean(values)
	xx, xy := 0.0, 0.0
	for i, v := range values {
		x := float64(i) - middle
		xx += x * x
		xy += x * (v - m)
	}
	line := n*variance(values) - xy*xy/xx
	return line < steps
}
