package fio

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/native"
)

// offer is the rate of an open loop.
type offer struct {
	// rate in operations per second.
	rate     int64
	arrivals native.Arrivals
}

const (
	fieldOfferedRate = "fio.offeredRate"
	fieldArrivals    = "fio.arrivals"

	// outstanding is how many I/Os an open loop has in flight at most if iodepth does not say it.
	outstanding = 64
	// maxOutstanding of them: each has a thread.
	maxOutstanding = 256
	// maxOpenMemory of their buffers, all together.
	maxOpenMemory = 256 << 20
	// perBuffer is what a buffer has at least, as its data must not repeat itself soon.
	perBuffer = 1 << 20
)

// openOptions are the options that an open loop heeds, or that make no difference to it: the engine
// and threads are our own.
var openOptions = []string{
	"rw", "rwmixread", "rwmixwrite", "bs", "size", "direct", "buffered", "iodepth", "runtime", "time_based", "fsync", "fdatasync",
	"ioengine", "numjobs", "thread", "group_reporting", "description",
}

// offerRate makes the job of the workload an open loop, if the workload offers a rate, and refuses
// what an open loop cannot do. It is pure.
func (c config) offerRate(jobs []job) error {
	switch {
	case c.OfferedRate == 0 && c.Arrivals != "":
		return invalid(fieldArrivals, "arrivals has no effect without offeredRate", "set fio.offeredRate, or remove fio.arrivals")
	case c.OfferedRate == 0:
		return nil
	case c.OfferedRate < 0 || c.OfferedRate > native.MaxRate:
		return invalid(fieldOfferedRate, fmt.Sprintf("%d operations per second is not between 1 and %d", c.OfferedRate, native.MaxRate), "omit it to issue I/Os as they complete")
	case c.Arrivals != "" && !slices.Contains(native.ArrivalNames(), c.Arrivals):
		return invalid(fieldArrivals, fmt.Sprintf("there are no arrivals %q", clip(c.Arrivals)), suggest.Remedy(c.Arrivals, native.ArrivalNames()))
	case len(jobs) != 1:
		return invalid(fieldOfferedRate, fmt.Sprintf("offeredRate is the rate of one job, but there are %d", len(jobs)), "use a workload for each job")
	}
	j := jobs[0]
	j.offer = &offer{c.OfferedRate, native.Arrivals(c.Arrivals)}
	if err := j.checkOpen(); err != nil {
		return err
	}
	if !j.has("iodepth") {
		j.options["iodepth"] = strconv.Itoa(outstanding)
	}
	// For what plans say of the bytes that it writes, and for readers of the document.
	j.options["rate_iops"] = strconv.FormatInt(c.OfferedRate, 10)
	jobs[0] = j
	return nil
}

// checkOpen refuses what our own I/O does not do as fio does it.
func (j job) checkOpen() error {
	refuse := func(message, remedy string) error { return invalid(fieldOfferedRate, message, remedy) }
	for _, name := range slices.Sorted(maps.Keys(j.options)) {
		if !slices.Contains(openOptions, name) {
			return refuse(fmt.Sprintf("the option %s has no effect with offeredRate, as storagebench makes the I/O itself", name), "remove "+name+", or remove offeredRate and measure with fio's own rate_iops; docs/reference/open-loop.md lists the options that an open loop heeds")
		}
	}
	_, single := strconv.ParseUint(j.options["bs"], 10, 64)
	switch {
	case j.clones() > 1:
		return refuse(fmt.Sprintf("%s has numjobs=%d, but the offered rate is that of one job", j.title(), j.clones()), "remove numjobs; iodepth is how many I/Os are outstanding at most")
	case !slices.Contains([]string{"read", "write", "randread", "randwrite", "readwrite", "randrw"}, j.pattern()):
		return refuse(fmt.Sprintf("%s has rw=%s, which an open loop cannot do", j.title(), j.pattern()), "use read, write, randread, randwrite, readwrite or randrw")
	case j.has("bs") && single != nil:
		return refuse(fmt.Sprintf("%s has bs=%s, but the I/Os of an open loop are of one size", j.title(), j.options["bs"]), "give one size, for example bs=4k")
	case !j.on("time_based"):
		return refuse(j.title()+" has no runtime, which an open loop needs", "add runtime, for example 30s, and remove time_based=0")
	case number(j.options["fsync"]) > 1 || number(j.options["fdatasync"]) > 1:
		return refuse(j.title()+" syncs after several writes, but the operation of an open loop is one write with its sync", "set fsync or fdatasync to 1, or remove it")
	case j.outstanding() > maxOutstanding:
		return refuse(fmt.Sprintf("%s has iodepth=%d, more than %d outstanding I/Os", j.title(), j.outstanding(), maxOutstanding), "lower iodepth: I/Os beyond it wait, and their wait counts")
	case j.arrivals() > native.MaxArrivals:
		return refuse(fmt.Sprintf("%d operations in a trial are more than %d", j.arrivals(), native.MaxArrivals), "lower offeredRate or runtime")
	case workload.Product(j.outstanding(), max(j.maxBlock(), perBuffer)) > maxOpenMemory:
		return refuse(fmt.Sprintf("%d outstanding I/Os of %s would hold more than %s of data in memory", j.outstanding(), workload.Human(j.maxBlock()), workload.Human(maxOpenMemory)), "lower iodepth or bs")
	}
	return nil
}

// outstanding is how many I/Os an open loop has in flight at most.
func (j job) outstanding() uint64 {
	if !j.has("iodepth") {
		return outstanding
	}
	return j.depth()
}

// arrivals is how many operations a trial has.
func (j job) arrivals() int64 {
	return max(1, int64(j.duration("runtime").Seconds()*float64(j.offer.rate)))
}
