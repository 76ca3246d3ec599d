package verdict

import (
	"fmt"

	"storagebench.io/storagebench/internal/result"
)

// depthIgnored: fewer I/Os are in flight than the job asks for.
func depthIgnored(f *Facts) []result.Verdict {
	asked, kept := f.value(result.DepthAsked), f.value(result.DepthKept)
	if kept == 0 || asked <= kept {
		return f.submitsOneByOne()
	}
	return []result.Verdict{{
		Name: DepthIgnored, Effect: result.Qualifies,
		Settle:   "Choose an engine that does not wait for each I/O, such as ioengine=libaio with direct=1 or io_uring, or set iodepth=1.",
		Sentence: fmt.Sprintf("The workload asks for %.0f I/Os in flight (iodepth), but its engine waits for each of them and keeps %.0f: these are the numbers of that depth.", asked, kept),
		Evidence: evidence(number{"asked", result.Count, asked}, number{"kept", result.Count, kept}),
	}}
}

// submitsOneByOne: the call that submits an I/O returns when it is done, as writes to a btrfs with
// checksums do since Linux 6.15, and writes that extend a file. fio counts what waits for its call as in
// flight, so that Little's law does not show it: what does are threads that spend their time in these
// calls and compute nothing, while the disks have no more than one I/O of each.
func (f *Facts) submitsOneByOne() []result.Verdict {
	threads, offered := f.threads(), f.depth()
	if threads == 0 || f.row != nil || f.open() || !f.counted() || offered < 2*threads || len(f.waitsForCPU()) > 0 {
		return nil
	}
	calls := 0.0
	for _, op := range f.operations() {
		calls += f.value(op+".iops") * f.value(op+".submission.mean")
	}
	computing := f.value("cpu.user") + f.value("cpu.system") + threads*f.value("engine.cpu.wait.share")
	waiting, device := (min(calls, threads)-computing)/threads, f.deviceDepth()
	if waiting < 0.5 || device > 1.5*threads {
		return nil
	}
	return []result.Verdict{{
		Name: DepthIgnored, Effect: result.Qualifies, Settle: "Use numjobs to have more in flight, a file system that does not wait (btrfs with nodatacow), or set iodepth=1.",
		Sentence: fmt.Sprintf("The workload asks for %.0f I/Os in flight (iodepth), but its threads spend %s of the time waiting in the calls that submit them, and the disks have %.1f at a time.", offered, percent(waiting), device),
		Evidence: evidence(
			number{"asked", result.Count, offered},
			number{"waiting", result.Ratio, waiting},
			number{"device.depth", result.Count, device},
			number{"threads", result.Count, threads},
		),
	}}
}
