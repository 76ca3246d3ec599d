package verdict

import (
	"fmt"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// limited is what of I/O a cgroup limits: how metrics name it, its rate, and how it is written.
type limited struct {
	name, rate, unit string
	words            func(float64) string
}

var limitedQuantities = []limited{
	{"bytes", ".bandwidth", result.BytesPerSecond, report.BytesPerSecond},
	{"count", ".iops", result.PerSecond, operationsPerSecond},
}

// throttled: a limit of the cgroup decides the rate. It is that of one disk, as several share what is done; or of a
// volume or array, which has all of it.
func throttled(f *Facts) []result.Verdict {
	disks := float64(max(1, len(f.Target.Devices)))
	var out []result.Verdict
	for _, d := range []direction{f.reading(), f.writing()} {
		for _, q := range limitedQuantities {
			for _, of := range []struct {
				prefix, words string
				disks, rate   float64
			}{
				{"limit.", "for each disk", disks, f.rateOfDisks(d, q) / disks},
				{"limit.target.", "for the device above the disks", 1, f.rateAbove(d, q)},
			} {
				// Half a second of credit, as a throttle gives, is 5 % of 10 s.
				limit := f.value(of.prefix + d.name + "." + q.name)
				if of.prefix == "limit." && len(f.Target.Counted()) > 1 && f.Samples != nil {
					of.disks, of.rate, of.words = 1, f.diskAtLimit(d, q, limit), "for a disk"
				}
				if limit <= 0 || of.rate < 0.9*limit {
					continue
				}
				out = append(out, d.each(result.Verdict{
					Name: Throttled, Effect: result.Qualifies, Settle: "Measure without the limit to learn what the storage can do.",
					Sentence: fmt.Sprintf("A limit of the cgroup decides the rate: %s %s.", q.words(limit), of.words),
					Evidence: evidence(
						number{"limit", q.unit, limit},
						number{"rate", q.unit, of.rate},
						number{"disks", result.Count, of.disks},
					),
				})...)
			}
		}
	}
	return out
}

// rateOfDisks is what all disks did in a second of the workload.
func (f *Facts) rateOfDisks(d direction, q limited) float64 {
	rate := 0.0
	if f.direct() { // what memory answers is not limited
		rate = f.value(d.name + q.rate)
		if d.name == "write" {
			rate *= f.copies()
		}
	}
	if busy := f.busySeconds(); busy > 0 { // a request of the workload may be several of the disk, of which each counts
		rate = max(rate, f.value("device."+d.name+"."+q.name)/busy)
	}
	return rate
}

// diskAtLimit returns the rate of a disk that did as much as the lowest limit of several lets through; 0: none did. One that does
// more has no limit, or another one: a file can lie on one disk of two, and the limit be of either.
func (f *Facts) diskAtLimit(d direction, q limited, limit float64) float64 {
	busy := f.busySeconds()
	for _, name := range f.Target.Counted() {
		rate := f.Samples.Sum(samples.Disk, name, columnsOf[d.name+"."+q.name], nil) / busy
		if credit := 0.5 / busy; rate >= 0.9*limit && rate <= (1.1+credit)*limit {
			return rate
		}
	}
	return 0
}

// rateAbove is what a device did that is above all disks. If one of those below does more than it is given, that
// is known of direct I/O only.
func (f *Facts) rateAbove(d direction, q limited) float64 {
	if !f.plainPath() {
		if f.direct() {
			return f.value(d.name + q.rate)
		}
		return 0
	}
	rate := f.rateOfDisks(d, q)
	if d.name == "write" {
		rate /= f.copies()
	}
	return rate
}
