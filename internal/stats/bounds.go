package stats

import (
	"slices"

	"storagebench.io/storagebench/internal/result"
)

// bounded returns the median of metrics of which some are only lower bounds, with its interval.
//
// Replacing a value by a lower bound of it can only lower an order statistic. It does not change the
// k-th smallest if every bound is above that: what is above only has to stay there. So a median or
// an end of the interval is exact then, and a lower bound otherwise. A lower bound is still a low
// end, but no high end. Without bounds, the interval is that of MedianOf.
func bounded(metrics []result.Metric, looks Looks) result.Estimate {
	values := make([]float64, len(metrics))
	var bounds []float64
	for i, m := range metrics {
		if values[i] = m.Value; m.AtLeast {
			bounds = append(bounds, m.Value)
		}
	}
	e := result.Estimate{N: len(values), Median: Median(values), Bounds: len(bounds)}
	if len(bounds) == 0 {
		i := MedianOf(values, looks)
		if i.OK {
			low, high := i.Low, i.High // not with all of the interval
			e.Low, e.High = &low, &high
		}
		if i.Widened {
			e.Autocorrelation = i.Autocorrelation
		}
		return e
	}
	i := interval(values)
	e.Low, e.High = i.Low, i.High
	least := slices.Min(bounds)
	sorted := slices.Sorted(slices.Values(values))
	e.AtLeast = least <= sorted[len(sorted)/2] // the upper of the two in the middle
	if e.High != nil && least <= *e.High {
		e.High = nil
	}
	return e
}
