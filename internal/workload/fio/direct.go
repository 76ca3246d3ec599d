package fio

import (
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
	if env.Target.Mode == trial.Block {
		d.Effective, d.Evidence = device.ProbeDirectDevice(env.Device)
	} else {
		d.Effective, d.Evidence = device.ProbeDirect(env.Dir)
	}
	if asked < len(jobs) {
		d.Evidence += "; some of the jobs do not ask for it"
	}
	return d
}
