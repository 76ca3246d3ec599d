package paired

import (
	"context"
	"fmt"

	"storagebench.io/storagebench/internal/stats"
)

// Side measures one of the two, once, and returns its rate.
type Side func(ctx context.Context) (rate float64, err error)

// Effort says when a comparison ends.
type Effort struct {
	// Min and Max are the fewest and the most pairs.
	Min, Max int
	// HalfWidth of the interval that is narrow enough.
	HalfWidth float64
}

// Result is what the pairs say so far.
type Result struct {
	Estimate
	// A and B are the rates, pair by pair.
	A, B []float64
}

// Add returns the result with a pair more.
func (r Result) Add(a, b float64) Result {
	r.A, r.B = append(r.A, a), append(r.B, b)
	r.Estimate = RatioOfMedians(r.A, r.B)
	return r
}

// More says whether a result needs more pairs.
func (e Effort) More(r Result) bool {
	n := len(r.A)
	return n < e.Max && (n < e.Min || r.HalfWidth() > e.HalfWidth)
}

// MedianA is the median rate of side a.
func (r Result) MedianA() float64 { return stats.Median(r.A) }

// MedianB is the median rate of side b.
func (r Result) MedianB() float64 { return stats.Median(r.B) }

// Compare measures pairs and returns the ratio of a to b. It calls each after every
// pair, with what is known by then.
func Compare(ctx context.Context, effort Effort, a, b Side, each func(Result)) (Result, error) {
	var r Result
	for pair := 0; effort.More(r); pair++ {
		rates, order := [2]float64{}, [2]int{0, 1}
		if pair%2 == 1 {
			order = [2]int{1, 0}
		}
		for _, side := range order {
			rate, err := []Side{a, b}[side](ctx)
			if err == nil && !(rate > 0) {
				err = fmt.Errorf("a rate of %v", rate) // would make the ratio nonsense
			}
			if err != nil {
				return r, fmt.Errorf("pair %d: %w", pair+1, err)
			}
			rates[side] = rate
		}
		r = r.Add(rates[0], rates[1])
		each(r)
	}
	return r, nil
}
