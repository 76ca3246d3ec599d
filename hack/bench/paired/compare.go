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
	// Estimate makes the interval; nil: RatioOfMedians.
	Estimate func(a, b []float64) Estimate
}

// Result is what the pairs say so far.
type Result struct {
	Estimate
	// A and B are the rates, pair by pair.
	A, B []float64
}

// With returns the result with a pair more.
func (e Effort) With(r Result, a, b float64) Result {
	estimate := e.Estimate
	if estimate == nil {
		estimate = RatioOfMedians
	}
	r.A, r.B = append(r.A, a), append(r.B, b)
	r.Estimate = estimate(r.A, r.B)
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

// Pair measures both sides, in the opposite order if swapped, and returns their rates.
type Pair func(ctx context.Context, swapped bool) (a, b float64, err error)

// Compare measures pairs and returns the ratio of a to b. It calls each after every
// pair, with what is known by then.
func Compare(ctx context.Context, effort Effort, a, b Side, each func(Result)) (Result, error) {
	return Together(ctx, effort, func(ctx context.Context, swapped bool) (rateA, rateB float64, err error) {
		if swapped {
			rateB, err = b(ctx)
		}
		if err == nil {
			rateA, err = a(ctx)
		}
		if err == nil && !swapped {
			rateB, err = b(ctx)
		}
		return rateA, rateB, err
	}, each)
}

// Together is Compare for sides of which no pair can be measured one at a time.
func Together(ctx context.Context, effort Effort, pair Pair, each func(Result)) (Result, error) {
	var r Result
	for n := 0; effort.More(r); n++ {
		a, b, err := pair(ctx, n%2 == 1)
		if err == nil && !(a > 0 && b > 0) {
			err = fmt.Errorf("rates of %v and %v", a, b) // would make the ratio nonsense
		}
		if err != nil {
			return r, fmt.Errorf("pair %d: %w", n+1, err)
		}
		r = effort.With(r, a, b)
		each(r)
	}
	return r, nil
}
