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
// end, but no high end.
func bounded(metrics []result.Metric) result.Estimate {
	values := make([]float64, len(metrics))
	var bounds []float64
	for i, m := range metrics {
		if values[i] = m.Value; m.AtLeast {
			bounds = append(bounds, m.Value)
		}
	}
	i := interval(values)
	e := result.Estimate{N: len(values), Median: i.Median, Low: i.Low, High: i.High, Bounds: len(bounds)}
	if len(bounds) == 0 {
		return e
	}
	least := slices.Min(bounds)
	sorted := slices.Sorted(slices.Values(values))
	e.AtLeast = least <= sorted[len(sorted)/2] // the upper of the two in the middle
	if e.High != nil && least <= *e.High {
		e.High = nil
	}
	return e
}
