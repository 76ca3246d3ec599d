package fio

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/workload"
)

// ofAFile are options that may be a percentage of a file, or of a device.
var ofAFile = []string{"offset", "offset_increment", "size", "io_size"}

// keepPercents takes percentages out of the options of a job in a file system, until it is known
// of how many bytes they are. On a device fio knows that.
func (j *job) keepPercents() {
	for _, name := range ofAFile {
		percent, ok := strings.CutSuffix(j.options[name], "%")
		if !ok {
			continue
		}
		delete(j.options, name)
		if j.percents == nil {
			j.percents = map[string]uint64{}
		}
		if n := number(percent); n > 0 || name == "io_size" {
			j.percents[name] = n
		}
	}
}

// givenSize is how large a file is, and the job that says so.
type givenSize struct {
	bytes uint64
	job   string
}

// givenSizes are those of the files that jobs name, as fio makes them before any job runs: each is as
// large as the job needs it that goes farthest.
func givenSizes(jobs []job, shared map[string]bool) map[string]givenSize {
	given := map[string]givenSize{}
	var apart map[string]uint64 // once for all jobs
	for _, j := range jobs {
		if !j.sized() || !j.listed(shared) || strings.Contains(j.options["filesize"], "-") { // drawn from a range
			continue
		}
		give := func(name string, bytes uint64) {
			if bytes > given[name].bytes {
				given[name] = givenSize{bytes, j.name}
			}
		}
		if j.percents["offset"] == 0 || j.has("filesize") {
			j.eachFile(0, give)
		}
		if j.ofDevice() { // A percentage of it is not one of what the job uses.
			if apart == nil {
				apart = leastApart(jobs)
			}
			for _, name := range j.fileNames() {
				give(name, apart[name])
			}
		}
	}
	return given
}

// ofDevice reports whether the author's file is a device, which has a size before a job uses it.
func (j job) ofDevice() bool { return strings.Contains(":"+j.raws["filename"].value, ":/dev/") }

// regions of a file that begin at percentages of it: how many there are, and the largest at each percentage.
type regions struct {
	count   uint64
	largest map[uint64]uint64
}

// leastApart is how large each device is at least on which jobs do not overlap that begin at percentages of it.
func leastApart(jobs []job) map[string]uint64 {
	all := map[string]*regions{}
	for _, j := range jobs {
		step := j.percents["offset_increment"]
		if j.has("filesize") || j.percents["offset"] == 0 && step == 0 && j.has("offset") {
			continue
		}
		begins := min(j.clones(), 100/max(1, step)+1)
		apart, each := begins, j.perFile(0)
		if step == 0 {
			apart = 1
		}
		for _, name := range j.fileNames() {
			r := all[name]
			if r == nil {
				r = &regions{largest: map[uint64]uint64{}}
				all[name] = r
			}
			r.count += begins
			for clone := range apart {
				at := j.percents["offset"] + clone*step
				r.largest[at] = max(r.largest[at], each)
			}
		}
	}
	least := map[string]uint64{}
	for name, r := range all {
		least[name] = r.least()
	}
	return least
}

// least is how large the file is if none of its regions reaches the next.
func (r *regions) least() (bytes uint64) {
	if r.count < 2 {
		return 0
	}
	next := uint64(100)
	for _, at := range slices.Backward(slices.Sorted(maps.Keys(r.largest))) {
		if at < next {
			bytes = max(bytes, workload.Product(r.largest[at], 100)/(next-at))
			next = at
		}
	}
	return bytes
}

// wholeOf is the size of each of the job's files, if it is given, and the job that gives it.
func (j job) wholeOf(given map[string]givenSize, shared map[string]bool) givenSize {
	if low, _, _ := strings.Cut(j.options["filesize"], "-"); number(low) > 0 {
		return givenSize{number(low), j.name}
	}
	var least givenSize
	for i, name := range j.names(shared) {
		if g := given[name]; i == 0 || g.bytes < least.bytes {
			least = g
		}
	}
	if !j.has("filename") && least.job == j.name {
		return givenSize{} // its own file, which is not there yet
	}
	return least
}

// takePercents replaces percentages by bytes, of files of this size, as fio does: offsets begin at the
// next block, and no clone goes past the end of the file. A job without a size has the rest of its files.
func (j *job) takePercents(of uint64) {
	block := j.minBlock()
	up := func(name string) uint64 {
		percent, ok := j.percents[name]
		if !ok {
			return number(j.options[name])
		}
		align := cmp.Or(number(j.options["offset_align"]), block)
		n := (shareOf(of, percent) + align - 1) / align * align
		j.options[name] = strconv.FormatUint(n, 10)
		return n
	}
	offset, step := up("offset"), up("offset_increment")
	var region uint64
	percent, has := j.percents["size"]
	switch {
	case !has && j.has("size"):
		region = j.perFile(0)
	default:
		if !has {
			percent = 100
		}
		region = min(shareOf(of, percent), of-min(of, offset))
		if percent < 100 {
			region -= region % block
		}
		j.setRegion(of, percent, region, offset+(j.clones()-1)*step)
	}
	if percent, ok := j.percents["io_size"]; ok {
		j.options["io_size"] = strconv.FormatUint(max(1, shareOf(workload.Product(region, j.files()), percent)), 10)
	}
	j.percents = nil
}

// setRegion sets the size of a job that has a part of each of its files. last is where its last clone
// begins. If that has less than the others, fio works it out.
func (j *job) setRegion(of, percent, region, last uint64) {
	switch {
	case j.has("filesize") || last+region > of:
		if !j.has("filesize") {
			j.options["filesize"] = strconv.FormatUint(of, 10)
		}
		if percent < 100 {
			j.options["size"] = fmt.Sprintf("%d%%", percent)
		}
	default:
		j.options["size"] = strconv.FormatUint(workload.Product(region, j.files()), 10)
	}
}

// sizePercent is the percentage of its files that a job uses.
func (j job) sizePercent() uint64 {
	percent, ok := strings.CutSuffix(j.options["size"], "%")
	if !ok {
		return 100
	}
	return number(percent)
}
