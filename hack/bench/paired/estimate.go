package paired

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"storagebench.io/storagebench/internal/stats"
)

// resamples of the pairs; the interval's ends are their 2.5th and 97.5th percentile.
const resamples = 4000

// Estimate is a ratio of medians and its 95 % interval.
type Estimate struct{ Ratio, Low, High float64 }

// HalfWidth of the interval.
func (e Estimate) HalfWidth() float64 { return (e.High - e.Low) / 2 }

// RatioOfMedians returns the ratio of the medians of a and b, and its 95 % interval
// by the percentile bootstrap over pairs. Pairs are drawn as a whole, so that what
// affects both sides cancels out.
func RatioOfMedians(a, b []float64) Estimate {
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
	return Estimate{
		Ratio: stats.Median(a) / stats.Median(b),
		Low:   ratios[resamples*25/1000],
		High:  ratios[resamples*975/1000],
	}
}

// MedianOfRatios is the median of a/b over the pairs, and its 95 % interval from order
// statistics, as storagebench compares variants. It is the better estimate if the
// machine's speed drifts by much more than the sides of a pair differ: then the medians
// of a and b come from the same one or two pairs, whose ratio says nothing about the
// others. With fewer than 6 pairs the interval is unbounded.
func MedianOfRatios(a, b []float64) Estimate {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	low, high, ok := stats.MedianInterval(ratios, stats.Confidence)
	if !ok {
		low, high = 0, math.Inf(1)
	}
	return Estimate{Ratio: stats.Median(ratios), Low: low, High: high}
}

// MeanOfRatios is the geometric mean of a/b over the pairs, and its 95 % interval by Student's t. It has the
// narrowest interval if each side of a pair is a mean of many slices, whose ratio is then nearly
// normal. With a single pair the interval is unbounded.
func MeanOfRatios(a, b []float64) Estimate {
	logs := make([]float64, len(a))
	for i := range a {
		logs[i] = math.Log(a[i] / b[i])
	}
	mean, deviation := stat.MeanStdDev(logs, nil)
	if len(logs) < 2 {
		return Estimate{Ratio: math.Exp(mean), High: math.Inf(1)}
	}
	n := float64(len(logs))
	wide := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(1-(1-stats.Confidence)/2) * deviation / math.Sqrt(n)
	return Estimate{Ratio: math.Exp(mean), Low: math.Exp(mean - wide), High: math.Exp(mean + wide)}
}
