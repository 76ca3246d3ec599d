package main

import (
	"math/rand/v2"
	"slices"

	"storagebench.io/storagebench/internal/stats"
)

// resamples of the pairs; the interval's ends are their 2.5th and 97.5th percentile.
const resamples = 4000

type estimate struct{ ratio, low, high float64 }

func (e estimate) halfWidth() float64 { return (e.high - e.low) / 2 }

// ratioOfMedians is the ratio of the medians of a and b, and its 95 % interval by the
// percentile bootstrap over pairs: a pair is drawn as a whole, so that what falls on
// both of it cancels out.
func ratioOfMedians(a, b []float64) estimate {
	r := rand.New(rand.NewPCG(42, uint64(len(a))))
	ratios := make([]float64, resamples)
	x, y := make([]float64, len(a)), make([]float64, len(a))
	for i := range ratios {
		for j := range x {
			k := r.IntN(len(a))
			x[j], y[j] = a[k], b[k]
		}
		ratios[i] = stats.Median(x) / stats.Median(y)
	}
	slices.Sort(ratios)
	return estimate{
		ratio: stats.Median(a) / stats.Median(b),
		low:   ratios[resamples*25/1000],
		high:  ratios[resamples*975/1000],
	}
}
