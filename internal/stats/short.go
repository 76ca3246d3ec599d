package stats

import (
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// second is how long a trial should measure at least, less what one of a second may seem to miss of it.
const second = 0.99

// shortTrial is how long a trial of a row measured, at the median, if that was less than a second. It is known of
// operations with bytes and a bandwidth, or with a count and a rate, of which the longest tells. median is that
// of a metric, also of one that the row has no room for.
func shortTrial(row result.Row, median func(metric string) float64) float64 {
	longest := 0.0
	for _, op := range report.Operations(row) {
		for _, of := range [][2]string{{".bytes", ".bandwidth"}, {".count", ".rate"}} {
			if done, rate := median(op+of[0]), median(op+of[1]); done > 0 && rate > 0 {
				longest = max(longest, done/rate)
			}
		}
	}
	if longest >= second {
		return 0
	}
	return longest
}

// mediansOf returns the medians of what a row has.
func mediansOf(row result.Row) func(metric string) float64 {
	return func(metric string) float64 { return row.Metrics[metric].Median }
}
