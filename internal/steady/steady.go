package steady

import "math"

const (
	// Rounds is how many rounds are looked at: the last five.
	Rounds = 5
	// maxRange is how far the highest and the lowest may lie apart, and maxDrift how far a line through
	// them may move from the first to the last, as shares of their mean.
	maxRange, maxDrift = 0.2, 0.1
)

// Window is how the last rounds differ, as shares of their mean.
type Window struct {
	// Range is the highest minus the lowest.
	Range float64
	// Drift is how far the line through them (of least squares) moves from the first to the last, up or
	// down.
	Drift float64
}

// Steady reports whether the rounds differ so little that the rate is steady.
func (w Window) Steady() bool { return w.Range <= maxRange && w.Drift <= maxDrift }

// Last returns how the last rounds differ; false if there are fewer than five of them, or if their mean
// is no rate.
func Last(rates []float64) (Window, bool) {
	if len(rates) < Rounds {
		return Window{}, false
	}
	last := rates[len(rates)-Rounds:]
	low, high, sum := last[0], last[0], 0.0
	for _, v := range last {
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	mean := sum / Rounds
	if !(mean > 0) || math.IsInf(mean, 0) {
		return Window{}, false
	}
	var xy, xx float64
	for i, v := range last {
		x := float64(i) - float64(Rounds-1)/2
		xy, xx = xy+x*(v-mean), xx+x*x
	}
	return Window{Range: (high - low) / mean, Drift: math.Abs(xy/xx) * (Rounds - 1) / mean}, true
}

// Reached reports whether the last rounds are steady.
func Reached(rates []float64) bool {
	w, ok := Last(rates)
	return ok && w.Steady()
}
