package changes

import (
	"math"
	"slices"
)

// Window and MaxP are Otava's defaults: the length of the pieces in which a series is searched,
// and the p-value below which a change point is reported.
const (
	Window = 50
	MaxP   = 0.001
)

// Point is a change point: Index is the first number of the new level.
type Point struct {
	Index int
	// Before and After are the means of the levels on either side, up to the neighbouring points.
	Before, After float64
	// P is that of Student's t-test between the two levels; NaN if all their numbers are equal.
	P float64
}

// magnitude is the larger of the relative changes forwards and backwards.
func (p Point) magnitude() float64 {
	forward, backward := 0.0, 0.0
	if p.Before != 0 {
		forward = math.Abs(p.After/p.Before - 1)
	}
	if p.After != 0 {
		backward = math.Abs(p.Before/p.After - 1)
	}
	if backward > forward {
		return backward
	}
	return forward
}

// Detect returns the change points of a series of finite numbers.
func Detect(series []float64) []Point {
	return merge(split(series, weakP), series)
}

// weakP is the p-value for the candidates: those that Otava's first step finds, and its second
// may remove again.
const weakP = 10 * MaxP

// split finds candidates in windows that overlap.
func split(series []float64, maxP float64) []Point {
	var found []int
	for start := 0; start < len(series); {
		end := min(start+Window, len(series))
		last := 0
		for _, i := range divide(series[start:end], maxP) {
			last = start + i
			if !slices.Contains(found, last) {
				found = append(found, last)
			}
		}
		start = max(last, start+Window/2)
	}
	slices.Sort(found)
	points := make([]Point, len(found))
	for i := range found {
		points[i] = compared(found, i, series)
	}
	return points
}

// divide splits a window at the best place of all its segments, again and again, until the best
// is not significant.
func divide(window []float64, maxP float64) []int {
	q := newDivergence(window)
	var found []int
	for {
		best, bestQ, from, to := -1, 0.0, 0, 0
		start := 0
		for _, end := range append(slices.Clone(found), len(window)) {
			if end-start > 1 {
				if at, value := q.best(start, end); best < 0 || value > bestQ {
					best, bestQ, from, to = at, value, start, end
				}
			}
			start = end
		}
		if best < 0 {
			return found
		}
		if p := tTest(window[from:best], window[best:to]).P; !(p <= maxP) { // also if it is no number
			return found
		}
		found = append(found, best)
		slices.Sort(found)
	}
}

// merge removes the weakest point until all are significant. Otava recomputes the two points
// after the removed one, and so do we.
func merge(points []Point, series []float64) []Point {
	for len(points) > 0 {
		weakest := 0
		for i, p := range points {
			if p.P > points[weakest].P {
				weakest = i
			}
		}
		if points[weakest].P < MaxP {
			weakest = 0
			for i, p := range points {
				if p.magnitude() < points[weakest].magnitude() {
					weakest = i
				}
			}
			if points[weakest].magnitude() > 0 {
				return points
			}
		}
		points = slices.Delete(points, weakest, weakest+1)
		indices := make([]int, len(points))
		for i, p := range points {
			indices[i] = p.Index
		}
		for i := weakest; i <= weakest+1 && i < len(points); i++ {
			points[i] = compared(indices, i, series)
		}
	}
	return points
}

// compared is the i-th point of those at the indices.
func compared(indices []int, i int, series []float64) Point {
	from, to := 0, len(series)
	if i > 0 {
		from = indices[i-1]
	}
	if i+1 < len(indices) {
		to = indices[i+1]
	}
	p := tTest(series[from:indices[i]], series[indices[i]:to])
	p.Index = indices[i]
	return p
}
