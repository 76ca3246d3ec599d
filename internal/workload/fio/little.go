package fio

import (
	"fmt"
	"math"
	"slices"

	"storagebench.io/storagebench/internal/result"
)

// littleMetric is how many I/Os were in flight on average, as rate and latency say, over
// how many iodepth and numjobs offer.
const littleMetric = "littles.law.ratio"

// littleTolerance is how far from 1 it may be.
const littleTolerance = 0.05

// checkLittle records whether rate × mean latency is the depth that was offered, for the
// trial and for each job, and returns notes on jobs for which it is not. By Little's law
// (L = λ·W) the two are equal in a closed loop, which issues an I/O as soon as one has
// completed. Where they differ, I/Os waited where no latency was measured.
func checkLittle(jobs []job, clones map[string][]*jobOutput, m result.Measurement) []string {
	var notes []string
	var achieved, offered float64
	for i := range m.Parts {
		p := &m.Parts[i]
		for _, j := range jobs {
			if j.name != p.Name || !j.closedLoop() {
				continue
			}
			a, o := littleOf(j, clones[j.name])
			if a == 0 || o == 0 {
				continue
			}
			if wrote := slices.ContainsFunc(clones[j.name], func(c *jobOutput) bool { return c.Write.IOs > 0 }); wrote && j.makesData() {
				if ratio := a / o; j.waits() && ratio < 1-littleTolerance {
					notes = append(notes, fmt.Sprintf("%s: for %.0f %% of the time fio had no I/O in flight, as it made new data for each write: the storage could do more than this rate says", j.name, 100*(1-ratio)))
				}
				continue
			}
			achieved, offered = achieved+a, offered+o
			ratio := a / o
			p.Metrics.Set(littleMetric, result.Ratio, ratio)
			if math.Abs(ratio-1) > littleTolerance {
				depth := float64(j.inFlight() * j.clones())
				notes = append(notes, fmt.Sprintf("%s: rate × mean latency is %.3g I/Os in flight, but iodepth × numjobs is %.0f (%s %.3f): below 1, I/Os waited in fio or for a CPU, and the storage could do more; above 1, the latencies or the time are wrong", j.name, ratio*depth, depth, littleMetric, ratio))
			}
		}
	}
	if offered > 0 {
		m.Metrics.Set(littleMetric, result.Ratio, achieved/offered)
	}
	return notes
}

// littleOf returns the I/O-seconds that the clones of a job spent in I/Os, and those that
// they offered.
func littleOf(j job, clones []*jobOutput) (achieved, offered float64) {
	for _, c := range clones {
		ns, ms := c.Sync.Latency.Mean*float64(c.Sync.Latency.N), 0.0
		for _, op := range operations {
			d := c.direction(op)
			ns += d.Total.Mean * float64(d.Total.N)
			ms = math.Max(ms, d.Runtime)
			if d.Total.N == 0 && d.IOs > 0 {
				return 0, 0 // no total latencies
			}
		}
		achieved += ns / 1e9
		offered += ms / 1e3 * float64(j.inFlight())
	}
	return achieved, offered
}

// closedLoop reports whether the job always keeps its depth in flight, unless fio itself keeps it from that. Syncs of an engine
// that does not wait for each I/O overlap with others in a way that fio does not report, and one at the end, whose latency fio does not
// report at all, has nothing else in flight.
func (j job) closedLoop() bool {
	if slices.ContainsFunc([]string{"rate", "rate_iops", "thinktime", "latency_target", "verify", "flow"}, j.has) {
		return false
	}
	if number(j.options["end_fsync"]) > 0 || number(j.options["fsync_on_close"]) > 0 {
		return false
	}
	syncs := number(j.options["fsync"]) > 0 || number(j.options["fdatasync"]) > 0
	return j.waits() || !syncs
}

// makesData reports whether fio makes new data for each write, and has no I/O in flight meanwhile.
func (j job) makesData() bool {
	return slices.ContainsFunc([]string{"refill_buffers", "buffer_compress_percentage", "dedupe_percentage"}, func(name string) bool { return number(j.options[name]) > 0 })
}

// waits reports whether a clone waits for each I/O, as synchronous engines do unless other
// threads submit.
func (j job) waits() bool {
	return synchronous(j.engine()) && j.options["io_submit_mode"] != "offload"
}

// inFlight is how many I/Os a clone keeps in flight.
func (j job) inFlight() uint64 {
	if j.waits() {
		return 1
	}
	return j.depth()
}

// kept is how many I/Os of a clone are at the storage at the same time. fio counts those that wait
// for the call that submits them as in flight, too.
func (j job) kept() uint64 {
	switch {
	case j.cached():
		return 1
	case j.engine() == "posixaio" && !j.elsewhere: // glibc does those of one file one after the other
		return min(j.depth(), j.files())
	}
	return j.inFlight()
}

// cached reports whether the kernel does each I/O of an asynchronous engine within the call that submits
// it, as it does for libaio through the page cache.
func (j job) cached() bool {
	return j.engine() == "libaio" && !j.direct() && j.options["io_submit_mode"] != "offload"
}
