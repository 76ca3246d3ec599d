package fio

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/workload"
)

// What fio allocates, measured with fio 3.33 and rounded up.
const (
	// perClone is a thread of fio: its state with histograms (475 KB measured), and its
	// part of the output. It exists from the start to the end of fio.
	perClone = 768 << 10
	// perDepth is the record of one I/O (460 bytes measured), and the kernel's of it.
	perDepth = 2 << 10
	// perFile is the record of a file of a clone.
	perFile = 1 << 10
	// perNote is what fio remembers of a block that it will verify.
	perNote = 128
	// writesPerSecond that a clone is expected to do at most, with checksums.
	writesPerSecond = 200_000
	// pageSize is what buffers are aligned to.
	pageSize = 4096
	// maxAllocated is more than any operator should allow. What it allows is checked when a
	// run is planned.
	maxAllocated = 64 << 30
)

// checkMemory refuses jobs that may allocate more than a limit. device is the size of the
// device, or 0 if it is not known.
func checkMemory(field string, jobs []job, device, limit uint64) error {
	worst, largest := "", uint64(0)
	for _, j := range jobs {
		if need := j.memory(device); worst == "" || need > largest {
			worst, largest = j.inMemory(need), need
		}
	}
	return workload.CheckMemory(field, allocated(jobs, device), limit,
		fmt.Sprintf("fio with %d clones in %d jobs (most of it %s)", clones(jobs), len(jobs), worst),
		"lower numjobs, iodepth or the block size; for files much larger than their blocks set norandommap=1, and for verify set verify_backlog; or order the jobs with stonewall")
}

// allocated is how much the jobs may allocate: all of them their threads, and those that run
// together, until a stonewall, what they work with.
func allocated(jobs []job, device uint64) uint64 {
	var all, together, most uint64
	for _, j := range jobs {
		all = workload.Sum(all, workload.Product(j.clones(), workload.Sum(perClone, workload.Product(j.files(), perFile))))
		if j.on("stonewall") {
			together = 0
		}
		together = workload.Sum(together, j.memory(device))
		most = max(most, together)
	}
	return workload.Sum(all, most)
}

// inMemory says what decides how much a job allocates.
func (j job) inMemory(need uint64) string {
	return fmt.Sprintf("%s: numjobs=%d, iodepth=%d, blocks of up to %s, %s", j.title(), j.clones(), j.depth(), workload.Human(j.maxBlock()), workload.Human(need))
}

// memory that a job's clones allocate while they run. Every engine allocates buffers for
// iodepth, also those that use only one.
func (j job) memory(device uint64) uint64 {
	buffer := workload.Sum(j.maxBlock(), pageSize)
	if j.onlyTrims() {
		buffer = 0
	}
	unit := workload.Sum(buffer, perDepth)
	// One block more, to lay files out and to read them before.
	clone := workload.Sum(workload.Product(j.depth()+1, unit), number(j.options["iomem_align"]), j.maps(device), j.notes(device))
	return workload.Product(j.clones(), clone)
}

// depth is what iodepth says, whether or not the engine keeps so many I/Os in flight.
func (j job) depth() uint64 { return max(1, number(j.options["iodepth"])) }

// maps of a clone's files have a bit for each block that was visited, and one in 64 of
// that again for the levels above.
func (j job) maps(device uint64) uint64 {
	random := strings.HasPrefix(j.pattern(), "rand")
	if !random || j.on("norandommap") {
		return 0
	}
	blocks := j.extent(device) / j.leastBlock()
	return workload.Sum(blocks/8, blocks/256)
}

// notes of what a clone has written and will verify. A job that goes on after its size
// is done notes blocks again unless it verifies them in between.
func (j job) notes(device uint64) uint64 {
	writes := strings.Contains(j.pattern(), "w")
	if !writes || !j.has("verify") || j.options["do_verify"] == "0" {
		return 0
	}
	blocks := max(j.extent(device), number(j.options["io_size"])) / j.leastBlock()
	if j.on("time_based") {
		blocks = max(blocks, uint64(j.duration("runtime").Seconds())*writesPerSecond)
	}
	if backlog := number(j.options["verify_backlog"]); backlog > 0 {
		blocks = min(blocks, backlog)
	}
	return workload.Product(blocks, perNote)
}

// extent of a clone's files together, or of its part of a device.
func (j job) extent(device uint64) uint64 {
	if n := j.fileSize(); n > 0 {
		return workload.Product(shareOf(n, j.sizePercent()), j.files())
	}
	if n := j.sizeOn(device); n > 0 {
		return n
	}
	return max(device, defaultSize)
}

// leastBlock is minBlock, with fio's default for the directions that a list leaves out.
func (j job) leastBlock() uint64 {
	for _, key := range []string{"bs", "bsrange", "bssplit"} {
		if slices.Contains(strings.Split(j.options[key], ","), "") && j.has(key) {
			return min(j.minBlock(), 4096)
		}
	}
	return j.minBlock()
}

// maxBlock is the largest I/O of the job.
func (j job) maxBlock() uint64 {
	largest := uint64(4096)
	for _, key := range []string{"bs", "bsrange", "bssplit"} {
		for field := range strings.FieldsFuncSeq(j.options[key], func(r rune) bool { return r == ',' || r == '-' || r == ':' }) {
			bytes, _, _ := strings.Cut(field, "/")
			largest = max(largest, number(bytes))
		}
	}
	return largest
}
