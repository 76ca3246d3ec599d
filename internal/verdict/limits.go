package verdict

import (
	"fmt"
	"math"
	"time"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// limitsOverTime are the limits of a cgroup over time, and what of a disk they limit.
var limitsOverTime = []struct {
	direction   string
	limit, done samples.Column
	unit        string
	words       func(float64) string
}{
	{"read", samples.LimitReadBytes, samples.ReadBytes, result.BytesPerSecond, report.BytesPerSecond},
	{"write", samples.LimitWriteBytes, samples.WriteBytes, result.BytesPerSecond, report.BytesPerSecond},
	{"read", samples.LimitReadCount, samples.ReadCount, result.PerSecond, operationsPerSecond},
	{"write", samples.LimitWriteCount, samples.WriteCount, result.PerSecond, operationsPerSecond},
}

func operationsPerSecond(n float64) string { return report.Number(n) + " operations per second" }

// limitChanged: a limit of the cgroup was set, changed or lifted while the trial ran, and decided
// the rate as long as it was there.
func limitChanged(f *Facts) []result.Verdict {
	if f.Samples == nil {
		return nil
	}
	var out []result.Verdict
	for _, l := range limitsOverTime {
		d := f.reading()
		if l.direction == "write" {
			d = f.writing()
		}
		if len(d.operations) == 0 {
			continue
		}
		c, ok := f.changeOf(l.limit, l.done)
		if !ok {
			continue
		}
		out = append(out, d.each(result.Verdict{
			Name: Throttled, Effect: result.Qualifies, Settle: "Measure without the limit, or with it all the time.",
			Sentence: fmt.Sprintf("A limit of the cgroup changed while the trial ran: %s for each disk, but only for %.1f of %.1f s.", l.words(c.limit), c.limited, c.all),
			Evidence: evidence(
				number{"limit", l.unit, c.limit},
				number{"rate.limited", l.unit, c.rate},
				number{"rate.otherwise", l.unit, c.otherwise},
				number{"limited", result.Seconds, c.limited},
			),
		})...)
	}
	return out
}

// change of a limit: the lowest one, for how long it was there, and what each disk did meanwhile and
// in the rest of the time, per second.
type change struct{ limit, limited, all, rate, otherwise float64 }

// changeOf looks for a limit that was not the same all the time, and that the disks were at.
func (f *Facts) changeOf(limit, done samples.Column) (c change, ok bool) {
	t := f.Samples
	c.limit = math.Inf(1)
	rows := t.Select(samples.Machine, "")
	for _, row := range rows {
		if v := t.Values[limit][row]; v > 0 {
			c.limit = min(c.limit, v)
		}
	}
	if math.IsInf(c.limit, 1) {
		return c, false
	}
	limited := map[time.Time]bool{}
	for _, row := range rows {
		seconds := t.Values[samples.Seconds][row]
		if math.IsNaN(seconds) {
			continue
		}
		c.all += seconds
		if v := t.Values[limit][row]; v <= 1.05*c.limit {
			limited[t.At[row]] = true
			c.limited += seconds
		}
	}
	// What a throttle lets through at once when it begins, and its reaction, are no change.
	if c.limited <= 0.05*c.all || c.limited >= 0.95*c.all {
		return c, false
	}
	disks := float64(max(1, len(f.Target.Devices)))
	var sum change
	for _, disk := range f.Target.Counted() {
		one := c
		for _, row := range t.Select(samples.Disk, disk) {
			if v := t.Values[done][row]; !math.IsNaN(v) {
				if limited[t.At[row]] {
					one.rate += v
				} else {
					one.otherwise += v
				}
			}
		}
		one.rate, one.otherwise = one.rate/c.limited, one.otherwise/(c.all-c.limited)
		if one.decided() && one.rate <= 1.1*one.limit { // of the others, which do more or nothing, none need be limited
			return one, true
		}
		sum.rate, sum.otherwise = sum.rate+one.rate/disks, sum.otherwise+one.otherwise/disks
	}
	c.rate, c.otherwise = sum.rate, sum.otherwise
	return c, c.decided()
}

// decided reports whether the limit was what decided the rate while it was there.
func (c change) decided() bool {
	return c.rate >= 0.9*c.limit && math.Abs(c.otherwise-c.rate) > 0.1*c.rate
}
