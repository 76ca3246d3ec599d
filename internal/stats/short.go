package stats

import (
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// second is how long a trial should measure at least, less what one of a second may seem to miss of it.
const second = 0.99

// shortTrial is how long a trial of a row measured, at the median, if that was less than a second. It is known of
// operations with bytes and a bandwidth, or with a count and a rate, of which the longest tells.
func shortTrial(row result.Row) float64 {
	longest := 0.0
	for _, op := range report.Operations(row) {
		for _, of := range [][2]string{{".bytes", ".bandwidth"}, {".count", ".rate"}} {
			if done, rate := row.Metrics[op+of[0]].Median, row.Metrics[op+of[1]].Median; done > 0 && rate > 0 {
				longest = max(longest, done/rate)
			}
		}
	}
	if longest >= second {
		return 0
	}
	return longest
}
