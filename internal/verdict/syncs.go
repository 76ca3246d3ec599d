package verdict

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// How often a workload syncs decides what its writes can be blamed for: one sync of a gigabyte leaves the disk's cache
// to absorb a block that is written again and again, and thousands of them write a journal. So checks ask for the bytes from one
// sync to the next, and not for an option that may never come to act.

var (
	// openedToSync is a job of fio that opens its files with O_SYNC or O_DSYNC.
	openedToSync = regexp.MustCompile(`(?m)^sync=(1|sync|dsync)$`)
	// syncsAfter is a job of fio that syncs after each so many writes, and syncsAtEnd one that syncs when it ends.
	syncsAfter = regexp.MustCompile(`(?m)^(?:fsync|fdatasync)=0*([1-9]\d*)$`)
	syncsAtEnd = regexp.MustCompile(`(?m)^(?:end_fsync|fsync_on_close)(?:=[1-9]\d*)?$`)
	// writesNothing is a job of fio that only reads or trims, which never syncs.
	writesNothing = regexp.MustCompile(`(?m)^(?:rw|readwrite)=[^w\n]*$`)
)

// oftenSynced is how many bytes from one sync to the next are so few that the journal of a file system can be more than
// a small share of what the disks write.
const oftenSynced = 1 << 20

// synced is how many times the workload made data durable, as it was counted.
func (f *Facts) synced() float64 {
	n := f.value("sync.count") + f.value(result.FilesSynced)
	if !f.onlyStarted() {
		n += f.value("sync.ios")
	}
	if openedToSync.MatchString(f.Measurement.Input) {
		n += f.value("write.ios")
	}
	return n
}

// syncCount is how many times the workload made data durable, as far as counters, its options and those of the file system
// tell; +Inf: often, and nobody counted.
func (f *Facts) syncCount() float64 {
	n := f.synced()
	if n == 0 && slices.ContainsFunc(f.operations(), f.isSync) {
		return math.Inf(1)
	}
	if len(f.writing().operations) == 0 {
		return n
	}
	writes := f.writes()
	for _, job := range f.writers() {
		if openedToSync.MatchString(job) {
			n = max(n, writes)
		}
		for _, m := range syncsAfter.FindAllStringSubmatch(job, -1) {
			after, _ := strconv.ParseFloat(m[1], 64) // digits
			n = max(n, math.Floor(writes/after))
		}
		if syncsAtEnd.MatchString(job) {
			n = max(n, 1)
		}
	}
	if f.mountedToSync() {
		n = max(n, writes)
	}
	return n
}

// writes is how many the workload did; +Inf: nobody counted.
func (f *Facts) writes() float64 {
	n := f.value("write.ios")
	if h := f.Measurement.Histograms["write"]; n == 0 && h != nil {
		n = float64(h.Count())
	}
	if n == 0 {
		return math.Inf(1)
	}
	return n
}

// writers are the texts of the jobs of fio that write.
func (f *Facts) writers() []string {
	return slices.DeleteFunc(f.jobTexts(), writesNothing.MatchString)
}

// jobTexts are the texts of the jobs of a job file of fio.
func (f *Facts) jobTexts() []string {
	var out []string
	for line := range strings.Lines(f.Measurement.Input) {
		if len(out) == 0 || strings.HasPrefix(line, "[") {
			out = append(out, "")
		}
		out[len(out)-1] += line
	}
	return slices.DeleteFunc(out, func(job string) bool { return strings.HasPrefix(job, "[global]") })
}

// mountedToSync reports whether the target's file system syncs each write by itself.
func (f *Facts) mountedToSync() bool {
	return len(f.Target.Layers) > 0 && f.Target.Layers[0].HasOption("sync")
}

// syncs reports whether the workload relies on syncs.
func (f *Facts) syncs() bool { return f.syncCount() > 0 }

// syncedEvery is how many bytes the workload writes from one sync to the next, on average; +Inf: it does not sync.
func (f *Facts) syncedEvery() float64 {
	if n := f.syncCount(); n > 0 {
		return f.writing().bytes / n
	}
	return math.Inf(1)
}

// syncsOften reports whether the workload syncs so often that nobody can tell the journal's writes from a neighbour's.
func (f *Facts) syncsOften() bool { return f.syncedEvery() < oftenSynced }

// syncsEach reports whether hardly two writes come between two syncs.
func (f *Facts) syncsEach() bool { n := f.syncCount(); return math.IsInf(n, 1) || 2*n > f.writes() }

// leavesNothing reports whether what the workload wrote is on the disks when its clock stops, but for less than a tenth.
func (f *Facts) leavesNothing() bool {
	writers := f.writers()
	atEnd := len(writers) > 0 && !slices.ContainsFunc(writers, func(job string) bool { return !syncsAtEnd.MatchString(job) })
	return atEnd || f.syncedEvery() <= 0.1*f.writing().bytes
}
