package fio

import (
	"regexp"
	"slices"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// probeDirect reports whether direct I/O was asked for and what the target makes of it.
func probeDirect(env workload.Env, jobs []job) *result.DirectIO {
	asked := 0
	for _, j := range jobs {
		if j.direct() {
			asked++
		}
	}
	if asked == 0 {
		return &result.DirectIO{Effective: result.Buffered, Evidence: "no job has direct=1"}
	}
	d := &result.DirectIO{Requested: true}
	if slices.ContainsFunc(jobs, func(j job) bool { return j.direct() && j.engine() == "mmap" }) {
		d.Effective, d.Evidence = result.CachedAnyway, "ioengine=mmap maps the files, which goes through the page cache whatever direct says"
		return d
	}
	if env.Target.Mode == trial.Block {
		d.Effective, d.Evidence = device.ProbeDirectDevice(env.Device)
	} else {
		d.Effective, d.Evidence = device.ProbeDirect(directory(env))
	}
	if asked < len(jobs) {
		d.Evidence += "; some of the jobs do not ask for it"
	}
	return d
}

// bypassed is what fio prints if the kernel does not let it drop a device's page cache.
var bypassed = regexp.MustCompile(`Cache flush bypassed|cache invalidation of \S+ failed`)

// cacheNotes says that buffered reads of a device may have come from memory. fio has no
// privilege to drop the device's page cache before each job; the runner does so once, before
// fio starts.
func cacheNotes(env workload.Env, jobs []job, messages string) []string {
	buffered := func(j job) bool { return !j.direct() }
	if env.Target.Mode != trial.Block || !slices.ContainsFunc(jobs, buffered) || !bypassed.MatchString(messages) {
		return nil
	}
	return []string{"fio may not drop the device's page cache: it was dropped before the trial, but not before jobs that begin later (stonewall, loops). With direct=0 these may have read from memory what was written or read before"}
}
