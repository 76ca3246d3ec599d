package main

import (
	"time"

	"storagebench.io/storagebench/internal/workload"
)

// settle is about how long the runner waits before each trial, and syncs after it.
const settle = 1.0

// timeText and bytesText mark what is not exact.
func (b plannedBounds) timeText(s float64) string {
	if b.SecondsAtLeast {
		return "≥ " + seconds(s)
	}
	return seconds(s)
}

func (b plannedBounds) bytesText(n uint64) string {
	switch text := bytesOrNone(n); {
	case n == 0:
		return text
	case b.BytesAtLeast:
		return "≥ " + text
	case b.BytesEstimated:
		return "~" + text
	default:
		return text
	}
}

// total adds up all workers.
func (d *planDocument) total(nodes int, timeout time.Duration) {
	least, early := 0.0, d.Stop != nil
	for _, w := range d.Workloads {
		all := w.Trials + w.Rounds
		d.Bytes = workload.Sum(d.Bytes, workload.Product(uint64(nodes), workload.Sum(w.Prepares, workload.Product(w.Writes, uint64(all)))))
		d.Seconds += float64(nodes) * (float64(w.Prepares)/float64(d.AssumedRate) + float64(all)*(w.Seconds+settle))
		fewest := float64(w.Trials)
		if d.Stop != nil {
			fewest *= float64(d.Stop.Min) / float64(d.Stop.Max)
		}
		least += float64(nodes) * (float64(w.Prepares)/float64(d.AssumedRate) + (fewest+float64(w.LeastRounds))*(w.Seconds+settle))
		early = early || w.LeastRounds < w.Rounds
		d.SecondsAtLeast = d.SecondsAtLeast || w.SecondsAtLeast
		d.BytesAtLeast, d.BytesEstimated = d.BytesAtLeast || w.BytesAtLeast, d.BytesEstimated || w.BytesEstimated
	}
	d.TimeoutSeconds = timeout.Seconds()
	if early {
		d.LeastSeconds = least
	}
	d.TooLong = timeout > 0 && least > d.TimeoutSeconds
}
