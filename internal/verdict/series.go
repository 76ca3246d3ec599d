package verdict

import (
	"math"
	"slices"
	"time"

	"storagebench.io/storagebench/internal/samples"
)

// series is how an operation went over time.
type series struct {
	// rates are operations per second in each interval, ends those of the intervals and lengths
	// how long they were, in seconds since the first began.
	rates, ends, lengths []float64
}

// series returns how an operation went, as its engine counted. Intervals that are much shorter than
// the others, such as the first and the last, are left out: they tell little of a rate.
func (f *Facts) series(operation string) series {
	var s series
	lengths, counts := f.intervals(operation)
	usual := median(lengths)
	at := 0.0
	for i, seconds := range lengths {
		at += seconds
		if seconds < usual/2 {
			continue
		}
		s.rates, s.ends, s.lengths = append(s.rates, counts[i]/seconds), append(s.ends, at), append(s.lengths, seconds)
	}
	return s
}

// intervals returns how long each was, in seconds, and how many operations completed in it. Those of one of several jobs are the
// engine's own: samples have what all jobs did together.
func (f *Facts) intervals(operation string) (lengths, counts []float64) {
	add := func(seconds, count float64) {
		if seconds > 0 && count >= 0 { // both are numbers
			lengths, counts = append(lengths, seconds), append(counts, count)
		}
	}
	if f.row != nil {
		var last time.Time
		for _, r := range f.Measurement.Rates {
			if r.Operation != operation {
				continue
			}
			if idle := r.End.Sub(last).Seconds() - r.Seconds; !last.IsZero() && idle > r.Seconds/2 {
				add(idle, 0) // fio notes no interval in which nothing completed
			}
			last = r.End
			add(r.Seconds, r.Count)
		}
	}
	if f.Samples != nil && len(lengths) == 0 {
		for _, row := range f.Samples.Select(samples.Workload, operation) {
			add(f.Samples.Values[samples.Seconds][row], f.Samples.Values[samples.Count][row])
		}
	}
	return lengths, counts
}

// span is how long the series is, in seconds.
func (s series) span() float64 {
	total := 0.0
	for _, l := range s.lengths {
		total += l
	}
	return total
}

// batches returns the means of n intervals each. What is left over at the end is dropped.
func batches(values []float64, n int) []float64 {
	out := make([]float64, 0, len(values)/n)
	for ; len(values) >= n; values = values[n:] {
		out = append(out, mean(values[:n]))
	}
	return out
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// correlation is that of each value with the one before it.
func correlation(values []float64) float64 {
	m := mean(values)
	var with, own float64
	for i, v := range values {
		own += (v - m) * (v - m)
		if i > 0 {
			with += (v - m) * (values[i-1] - m)
		}
	}
	if own == 0 {
		return 0
	}
	return with / own
}

// trendOf is Kendall's S: how many pairs go up, less those that go down.
func trendOf(values []float64) float64 {
	s := 0.0
	for i, v := range values {
		for _, w := range values[i+1:] {
			switch {
			case w > v:
				s++
			case w < v:
				s--
			}
		}
	}
	return math.Abs(s)
}

// stepOf finds the place at which values fall apart best into two levels, and how well they do: the
// difference of the two means over what noise would make of it.
func stepOf(values []float64) (at int, score float64) {
	n, total, before := len(values), 0.0, 0.0
	for _, v := range values {
		total += v
	}
	for i := range n - 1 {
		before += values[i]
		left, right := float64(i+1), float64(n-i-1)
		if left < 2 || right < 2 {
			continue // one value is no level
		}
		d := before/left - (total-before)/right
		if here := math.Abs(d) * math.Sqrt(left*right/float64(n)); here > score {
			at, score = i+1, here
		}
	}
	return at, score
}
