package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// cost is what the operator spent on a mix.
type cost struct {
	mix      mixed
	took     time.Duration
	cpu      time.Duration
	requests requests // as the API server logged them
	refused  requests
	// counted are the requests that the operator's own client counted.
	counted float64
}

func (c cost) cpuEach() time.Duration { return c.cpu / time.Duration(c.mix.total()) }

func (c cost) requestsEach() float64 { return float64(c.requests.total()) / float64(c.mix.total()) }

func (c cost) String() string {
	return fmt.Sprintf("%s: %s; %s CPU and %.1f API requests each (%.1f by the operator's own count)",
		c.mix.name, c.mix, c.cpuEach().Round(100*time.Microsecond), c.requestsEach(), c.counted/float64(c.mix.total()))
}

// table lists the requests of a benchmark by their kinds.
func (c cost) table() string {
	var b strings.Builder
	for _, kind := range c.requests.most() {
		refused := ""
		if n := c.refused[kind]; n > 0 {
			refused = fmt.Sprintf("  (%.2f refused)", float64(n)/float64(c.mix.total()))
		}
		fmt.Fprintf(&b, "  %8.2f  %s%s\n", float64(c.requests[kind])/float64(c.mix.total()), kind, refused)
	}
	return b.String()
}

// percentile is the nearest-rank percentile, p in (0, 100]; of nothing it is NaN.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// What is promised.
const (
	mostMemory  = 300e6
	mostRatio   = 1.2
	mostDelay   = 2 * time.Second
	mostIdle    = 0.01
	enoughDelay = 100 // changes that a p99 needs
)

// verdict gathers what was measured, and what of it falls short.
type verdict struct {
	figures []string
	short   bool
}

// check adds a figure. What is not ok is marked, so that a reader need not compare.
func (v *verdict) check(ok bool, format string, arguments ...any) {
	figure := fmt.Sprintf(format, arguments...)
	if !ok {
		v.short = true
		figure += " (short)"
	}
	v.figures = append(v.figures, figure)
}

func (v *verdict) line() string {
	word := "ok"
	if v.short {
		word = "short"
	}
	return "bench-scale: " + word + ": " + strings.Join(v.figures, "; ")
}

// costs compares the large mix with the small one.
func (v *verdict) costs(small, large cost) {
	cpu := float64(large.cpuEach()) / float64(small.cpuEach())
	v.check(cpu <= mostRatio, "CPU per benchmark %s with %d, %s with %d, ratio %.2f (at most %.1f)",
		large.cpuEach().Round(100*time.Microsecond), large.mix.total(), small.cpuEach().Round(100*time.Microsecond), small.mix.total(), cpu, mostRatio)
	requests := large.requestsEach() / small.requestsEach()
	v.check(requests <= mostRatio, "API requests per benchmark %.1f and %.1f, ratio %.2f (at most %.1f)",
		large.requestsEach(), small.requestsEach(), requests, mostRatio)
}

func (v *verdict) memory(peak, heap uint64) {
	v.check(peak < mostMemory, "manager's peak memory %s, heap %s (below %s)", megabytes(peak), megabytes(heap), megabytes(mostMemory))
}

func (v *verdict) delays(seconds []float64) {
	p99 := percentile(seconds, 99)
	v.check(len(seconds) >= enoughDelay && p99 <= mostDelay.Seconds(), "a change is acted on within %.0f ms (median), %.0f ms (p99 of %d; at most %s)",
		1000*percentile(seconds, 50), 1000*p99, len(seconds), mostDelay)
}

func (v *verdict) idle(share float64, over time.Duration) {
	v.check(share < mostIdle, "idle %.2f %% of a core over %s (below %.0f %%)", 100*share, over, 100*mostIdle)
}

func megabytes(bytes uint64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }
