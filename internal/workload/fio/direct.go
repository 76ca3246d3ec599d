package fio

import (
	"regexp"
	"slices"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// probeDirect reports whether direct I/O was asked for and what the target makes of it, of all jobs together and of each.
func probeDirect(env workload.Env, jobs []job) (*result.DirectIO, []result.DirectMode) {
	d, modes := &result.DirectIO{Effective: result.Buffered, Evidence: "no job has direct=1"}, make([]result.DirectMode, len(jobs))
	var probed result.DirectMode
	evidence, buffered, mapped := "", false, false
	for i, j := range jobs {
		switch {
		case !j.direct():
			modes[i], buffered = result.Buffered, true
			continue
		case j.engine() == "mmap":
			modes[i], mapped = result.CachedAnyway, true
		default:
			if probed == "" {
				probed, evidence = probeTarget(env)
			}
			modes[i] = probed
		}
		d.Requested = true
	}
	switch {
	case mapped:
		d.Effective, d.Evidence = result.CachedAnyway, "ioengine=mmap maps the files, which goes through the page cache whatever direct says"
	case d.Requested:
		d.Effective, d.Evidence = probed, evidence
	}
	if d.Requested && buffered {
		d.Evidence += "; some of the jobs do not ask for it"
	}
	return d, modes
}

func probeTarget(env workload.Env) (result.DirectMode, string) {
	if env.Target.Mode == trial.Block {
		return device.ProbeDirectDevice(env.Device)
	}
	return device.ProbeDirect(directory(env))
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
