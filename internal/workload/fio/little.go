package fio

import (
	"math"
	"slices"

	"storagebench.io/storagebench/internal/result"
)

// checkLittle records whether rate × mean latency is the depth that was offered, for the
// trial and for each job. By Little's law (L = λ·W) the two are equal in a closed loop, which issues an
// I/O as soon as one has completed. Where they differ, I/Os waited where no latency was measured, and
// a verdict says so.
func checkLittle(jobs []job, clones map[string][]*jobOutput, m result.Measurement) {
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
			achieved, offered = achieved+a, offered+o
			p.Metrics.Set(result.LittlesLaw, result.Ratio, a/o)
		}
	}
	if offered > 0 {
		m.Metrics.Set(result.LittlesLaw, result.Ratio, achieved/offered)
	}
}

const (
	// countedIOs is how many I/Os for each in flight tell how many were on average. While the last ones
	// complete, half of the depth is in flight: of fifty times the depth, that is a hundredth.
	countedIOs = 50
	// countedTime is how long a clone must run, in milliseconds. Of less, a single slice of the scheduler, which
	// is some milliseconds, would be more than a twentieth.
	countedTime = 100
)

// littleOf returns the I/O-seconds that the clones of a job spent in I/Os, and those that
// they offered; 0: the law cannot be checked.
func littleOf(j job, clones []*jobOutput) (achieved, offered float64) {
	for _, c := range clones {
		ns, ms, ios := c.Sync.Latency.Mean*float64(c.Sync.Latency.N), 0.0, c.Sync.Latency.N
		for _, op := range operations {
			d := c.direction(op)
			ns += d.Total.Mean * float64(d.Total.N)
			ms = math.Max(ms, d.Runtime)
			ios += d.Total.N
			if d.Total.N == 0 && d.IOs > 0 {
				return 0, 0 // no total latencies
			}
		}
		if ms < countedTime || ios < countedIOs*j.inFlight() {
			return 0, 0
		}
		achieved += ns / 1e9
		offered += ms / 1e3 * float64(j.inFlight())
	}
	return achieved, offered
}

// notClosed are options with which a job does not always keep its depth in flight, because the user asks for that.
var notClosed = []string{
	"rate", "rate_iops", "thinktime", "latency_target", "verify", "flow", "end_fsync", "fsync_on_close", "iodepth_low", "serialize_overlap", "lockfile",
}

// closedLoop reports whether the job always keeps its depth in flight, unless fio itself keeps it from that. Syncs of an engine
// that does not wait for each I/O overlap with others in a way that fio does not report, and one at the end, whose latency fio does not
// report at all, has nothing else in flight.
func (j job) closedLoop() bool {
	if slices.ContainsFunc(notClosed, j.asks) {
		return false
	}
	syncs := j.asks("fsync") || j.asks("fdatasync") || j.asks("sync_file_range")
	return j.waits() || !syncs
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
