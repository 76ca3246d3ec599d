package fio

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

var _ workload.Outliner = Engine{}

// Outline says what the jobs will do at a place.
func (Engine) Outline(name string, raw json.RawMessage, at workload.Place) (workload.Outline, error) {
	c, err := decode(raw)
	if err != nil {
		return workload.Outline{}, err
	}
	c.machine = at.Machine
	jobs, changes, err := resolveChanged(c, at.Mode, name)
	if err != nil {
		return workload.Outline{}, err
	}
	out := workload.Outline{Changes: changes}
	if which := unsized(c, jobs, at.Mode); len(which) > 0 {
		choice := chosenSize(jobs, which, at.Mode, at.Machine, at.Room)
		setSize(jobs, which, choice)
		out.Size = &choice
	}
	out.Files, out.Duration = fileChoices(jobs), measuresFor(jobs)
	if at.Mode == trial.Block {
		out.Needs = deviceEnd(jobs, at.Room)
		if w := deviceWriters(jobs, at.Room); len(w) > 0 {
			out.Prepares = number(w[0].options["size"])
		}
	} else {
		out.Needs, out.Prepares = footprint(jobs, defaultSize), footprint(fileWriters(jobs), 0)
	}
	if at.Mode == trial.Filesystem && slices.ContainsFunc(jobs, func(j job) bool { return j.found.Files != result.Fresh }) {
		out.Keeps = footprint(jobs, defaultSize) - freshFiles(jobs).total()
	}
	if at.Room == math.MaxUint64 && out.Prepares > math.MaxInt64 {
		out.Prepares = 0 // all of a device of unknown size
	}
	for _, j := range jobs {
		bytes, open := j.writes(at.Room)
		out.Writes = workload.Sum(out.Writes, bytes)
		out.WritesFor = max(out.WritesFor, open)
	}
	return out, nil
}

// writes is how many bytes the job writes in a trial, or, if nothing but time ends it, for how
// long it writes.
func (j job) writes(device uint64) (bytes uint64, open time.Duration) {
	share := j.writeShare()
	if share == 0 {
		return 0, 0
	}
	if j.on("time_based") {
		runtime := j.duration("ramp_time") + j.duration("runtime")
		limit := number(strings.SplitN(j.options["rate"], ",", 2)[0])
		if iops := number(strings.SplitN(j.options["rate_iops"], ",", 2)[0]); iops > 0 {
			limit = workload.Product(iops, j.maxBlock())
		}
		if limit == 0 {
			return 0, runtime
		}
		return shareOf(workload.Product(limit, j.clones(), uint64(runtime/time.Second)), share), 0
	}
	amount := number(j.options["io_size"])
	if amount == 0 {
		amount = workload.Product(j.extent(device), max(1, number(j.options["loops"])))
	}
	if n := number(j.options["number_ios"]); n > 0 {
		amount = min(amount, workload.Product(n, j.maxBlock()))
	}
	return shareOf(workload.Product(amount, j.clones()), share), 0
}

// shareOf returns some percent of n, without an overflow.
func shareOf(n, percent uint64) uint64 { return n/100*percent + n%100*percent/100 }

// writeShare is how many of 100 bytes are written.
func (j job) writeShare() uint64 {
	switch j.pattern() {
	case "read", "randread", "trim", "randtrim":
		return 0
	case "readwrite", "randrw":
		if j.has("rwmixwrite") {
			return min(100, number(j.options["rwmixwrite"]))
		}
		if j.has("rwmixread") {
			return 100 - min(100, number(j.options["rwmixread"]))
		}
		return 50
	}
	return 100
}
