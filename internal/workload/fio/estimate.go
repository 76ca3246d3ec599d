package fio

import (
	"math"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/workload"
)

// defaultSize is the size of a job of parameters that gives none.
const defaultSize = 1 << 30

// estimate is what jobs need, without knowing the target.
func estimate(jobs []job) workload.Estimate {
	return workload.Estimate{Duration: measuresFor(jobs), Bytes: footprint(jobs, defaultSize)}
}

// measuresFor adds up jobs without knowing the target. Jobs run together until a
// stonewall; a job without runtime takes as long as its bytes, which is unknown.
func measuresFor(jobs []job) (all time.Duration) {
	var longest time.Duration
	for _, j := range jobs {
		if j.on("stonewall") {
			all += longest
			longest = 0
		}
		runtime := j.duration("runtime")
		if runtime == 0 {
			return 0
		}
		longest = max(longest, j.duration("startdelay")+j.duration("ramp_time")+runtime)
	}
	return all + longest
}

func (j job) duration(name string) time.Duration {
	value := j.options[name]
	if _, high, ranged := strings.Cut(value, "-"); ranged {
		value = high
	}
	return time.Duration(number(strings.TrimSuffix(value, "us"))) * time.Microsecond
}

// extents are the files that jobs use, with the end of the part that is used.
// Jobs that name the same file share it.
type extents map[string]uint64

// add puts the files of one job into e. preset is the size of a job without one.
func (e extents) add(j job, preset uint64) {
	j.eachFile(preset, func(name string, end uint64) { e[name] = max(e[name], end) })
}

// eachFile calls use with the files of the job, and the end of the part of each that is used.
func (j job) eachFile(preset uint64, use func(name string, end uint64)) {
	names, files, each, whole := j.fileNames(), j.files(), j.perFile(preset), j.fileSize()
	offset, increment := number(j.options["offset"]), number(j.options["offset_increment"])
	end := func(clone uint64) uint64 {
		if whole > 0 {
			return whole
		}
		return workload.Sum(offset, workload.Product(clone, increment), each)
	}
	if len(names) > 0 { // The clones share them, and the last one goes farthest.
		for _, name := range names {
			use(name, end(j.clones()-1))
		}
		return
	}
	for clone := range j.clones() {
		for i := range files {
			use(j.defaultName(clone, i), end(clone))
		}
	}
}

// fileSize is filesize, or the end of its range, or 0.
func (j job) fileSize() uint64 {
	low, high, ranged := strings.Cut(j.options["filesize"], "-")
	if !ranged {
		return number(low)
	}
	return number(high)
}

// perFile is the size of each file of a clone. fio rounds it down.
func (j job) perFile(preset uint64) uint64 {
	if n := j.fileSize(); n > 0 {
		return n
	}
	n := number(j.options["size"])
	if n == 0 {
		n = preset
	}
	return max(1, n/j.files())
}

func (e extents) total() uint64 {
	var sum uint64
	for _, end := range e {
		if sum > math.MaxUint64-end {
			return math.MaxUint64 // more than any target has
		}
		sum += end
	}
	return sum
}

// footprint is what jobs use of a file system.
func footprint(jobs []job, preset uint64) uint64 {
	named := extents{}
	var own uint64
	shared := map[string]bool{}
	for _, j := range jobs {
		shared[j.filesOf] = true
	}
	for _, j := range jobs {
		if j.has("filename") || shared[j.name] || j.filesOf != "" {
			named.add(j, preset)
			continue
		}
		// Of fio's own names no two are alike. There may be too many to list.
		offset, increment := number(j.options["offset"]), number(j.options["offset_increment"])
		if j.fileSize() > 0 {
			offset, increment = 0, 0
		}
		each := workload.Sum(offset, j.perFile(preset))
		own = workload.Sum(own, workload.Product(j.clones(), j.files(), each),
			workload.Product(j.files(), increment, j.clones()*(j.clones()-1)/2))
	}
	return workload.Sum(named.total(), own)
}
