package verdict

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// cpuThrottled: a quota stopped the workload.
func cpuThrottled(f *Facts) []result.Verdict {
	share := min(1, f.value("cpu.throttled")) // the kernel adds up what it stops on each CPU
	if share <= 0.01 {
		return nil
	}
	e := result.Qualifies
	if share > 0.2 {
		e = result.Invalidates
	}
	return []result.Verdict{{
		Name: CPUThrottled, Effect: e, Evidence: evidence(number{"share", result.Ratio, share}),
		Sentence: fmt.Sprintf("The CPU quota stopped the workload for %s of the time.", percent(share)),
		Settle:   "Raise the CPU limit of the worker.",
	}}
}

// depth is how many I/Os the application waited for on average, by Little's law.
func (f *Facts) depth() float64 {
	total := 0.0
	for _, op := range f.operations() {
		total += f.value(op+".iops") * f.value(op+".latency.mean")
	}
	return total
}

// busySeconds is for how long the disks had the workload's I/O. They are counted from the tool's start
// to its end, of which a short trial is only a part. An engine that does I/O before it counts leaves no
// way to tell that part; MeasuredPart tells it of fio.
func (f *Facts) busySeconds() float64 {
	counted, ran := f.value("device.seconds"), 0.0
	for _, op := range f.operations() {
		if rate := f.value(op + ".bandwidth"); rate > 0 {
			ran = max(ran, f.value(op+".bytes")/rate)
		}
	}
	if ran <= 0 || ran >= counted || startDelay.MatchString(f.Measurement.Input) || f.has("phase.create.duration") {
		return counted
	}
	return ran
}

// deviceDepth is how many I/Os were at the disks on average while the workload ran.
func (f *Facts) deviceDepth() float64 {
	depth := f.value("device.queue.depth")
	if busy := f.busySeconds(); busy > 0 {
		return depth * f.value("device.seconds") / busy
	}
	return depth
}

// latencyTarget is a job that looks for a depth.
var latencyTarget = regexp.MustCompile(`(?m)^latency_target=`)

var numjobs = regexp.MustCompile(`(?m)^numjobs=(\d+)$`)

// threads of a fio job file with one job; 0: it is none.
func (f *Facts) threads() float64 {
	if len(f.jobTexts()) != 1 {
		return 0
	}
	return f.allThreads()
}

// allThreads are those of all jobs of a fio job file; 0: it is none, or they do not all run at once.
func (f *Facts) allThreads() float64 {
	jobs, all := f.jobTexts(), 0.0
	if len(jobs) > 1 && !f.atOnce() {
		return 0
	}
	for _, job := range jobs {
		own := 1.0
		if m := numjobs.FindStringSubmatch(job); m != nil {
			if n, err := strconv.ParseFloat(m[1], 64); err == nil {
				own = n
			}
		}
		all += own
	}
	return all
}

const (
	// briefWait is how long a thread may wait for a CPU each time it can run, in seconds, and nobody
	// is to blame. On a fast disk it sleeps and is woken ten thousand times a second, and
	// each time it finds threads of the kernel that complete I/O: they hold the CPU for some
	// microseconds. A program that computes holds it for slices of the scheduler,
	// which are milliseconds.
	briefWait = 50e-6
	// computingSlice is how long a thread holds the CPU that computes, in seconds. One that waits
	// for the disk again and again gives it up sooner.
	computingSlice = 1e-3
	// inTurn is which share of an operation several programs that share a CPU in turns may take, without any that computes: on
	// loop devices and virtual machines, threads that do the storage's own work are among them.
	inTurn = 0.25
)

// cpuBound: the workload waits for a CPU, or its threads compute all the time, and the disks wait
// for them.
func cpuBound(f *Facts) []result.Verdict {
	if v := f.waitsForCPU(); v != nil {
		return v
	}
	if v := f.stolen(); v != nil {
		return v
	}
	const mean, slice = "engine.cpu.wait.mean", "engine.cpu.slice.mean"
	if f.has(mean) && f.value(mean) < briefWait && f.value(slice) < computingSlice {
		return nil // it sleeps and is woken all the time: it waits for the disks
	}
	threads, used := f.allThreads(), f.value("cpu.user")+f.value("cpu.system")
	if threads == 0 || f.open() || used < 0.9*threads || !f.counted() || f.deviceDepth() >= 0.7*f.depth() {
		return nil
	}
	if share, _, ok := f.readShare(); ok && share > 0.1 {
		return nil // memory, which is said
	}
	if share, _, _, ok := f.writeShare(); ok && share > 0.1 {
		return nil // that, too
	}
	return []result.Verdict{{
		Name: CPUBound, Effect: result.Qualifies, Settle: "Use more jobs, or larger blocks.",
		Sentence: fmt.Sprintf("The workload's threads were busy computing for %s of the time, so that the disks waited for them.", percent(min(1, used/threads))),
		Evidence: evidence(
			number{"cpu", result.Ratio, used},
			number{"threads", result.Count, threads},
			number{"device.depth", result.Count, f.deviceDepth()},
			number{"depth", result.Count, f.depth()},
		),
	}}
}

// waitsForCPU: somebody else computes where the workload's threads are to run. How long a thread
// waits for a CPU each time is part of what the operation takes for which it sleeps. That is the
// slowest one: between two syncs, a thread writes to memory without sleeping.
func (f *Facts) waitsForCPU() []result.Verdict {
	wait, share := f.value("engine.cpu.wait.mean"), f.value("engine.cpu.wait.share")
	if wait < briefWait || share <= 0.1 || f.value("cpu.throttled") > 0.01 {
		return nil // a quota that stops threads makes them wait, too, and is said
	}
	latency := 0.0
	for _, op := range f.operations() {
		latency = max(latency, f.value(op+".latency.mean"))
	}
	if latency == 0 {
		return nil
	}
	e, bad := effect(min(1, wait/latency))
	if wait < computingSlice { // several programs share the CPU in turns
		e, bad = result.Qualifies, wait > inTurn*latency
	}
	if !bad {
		return nil
	}
	return []result.Verdict{{
		Name: CPUBound, Effect: e, Settle: "Measure where no other program computes, or give the worker CPUs of its own.",
		Sentence: fmt.Sprintf("Each time that a thread of the workload could go on, it waited %.2f ms for a CPU; its slowest operation took %.2f ms on average.", wait*1e3, latency*1e3),
		Evidence: evidence(
			number{"wait", result.Seconds, wait},
			number{"wait.share", result.Ratio, share},
			number{"latency", result.Seconds, latency},
		),
	}}
}

// stolen: the host of this virtual machine gave its CPUs to others, which no clock of the machine's own threads tells.
func (f *Facts) stolen() []result.Verdict {
	if f.Samples == nil {
		return nil
	}
	var stolen, all float64
	for _, row := range f.Samples.Select(samples.Machine, "") {
		if share, seconds := f.Samples.Values[samples.CPUSteal][row], f.Samples.Values[samples.Seconds][row]; !math.IsNaN(share * seconds) {
			stolen, all = stolen+share*seconds, all+seconds
		}
	}
	if all == 0 || stolen/all <= 0.1 {
		return nil
	}
	return []result.Verdict{{
		Name: CPUBound, Effect: result.Qualifies, Settle: "Measure on a machine whose CPUs are its own.",
		Sentence: fmt.Sprintf("The host of this virtual machine gave %s of the time of its CPUs to others.", percent(stolen/all)),
		Evidence: evidence(number{"stolen", result.Ratio, stolen / all}),
	}}
}

// queueHidesLatency: I/Os wait above the device, whose own time is short.
func queueHidesLatency(f *Facts) []result.Verdict {
	device, offered := f.deviceDepth(), f.depth()
	if !f.counted() || !f.direct() || offered < 2 || device <= 0 || device >= 0.7*offered || len(cpuBound(f)) > 0 {
		return nil
	}
	var out []result.Verdict
	for _, d := range []direction{f.reading(), f.writing()} {
		latency, await := f.value(d.name+".latency.mean"), f.value("device."+d.name+".await")
		if await < 0.0005 || latency < 1.5*await {
			continue // a device that answers within half a millisecond has no queue worth the name
		}
		out = append(out, d.each(result.Verdict{
			Name: QueueHidesLatency, Effect: result.Qualifies, Settle: "Look at the total latency; the device's own is that of a shorter queue.",
			Sentence: fmt.Sprintf("I/Os wait above the device: %.1f were in flight, but only %.1f of them at the device.", offered, device),
			Evidence: evidence(
				number{"depth", result.Count, offered},
				number{"device.depth", result.Count, device},
				number{"latency", result.Seconds, latency},
				number{"await", result.Seconds, await},
			),
		})...)
	}
	return out
}

// direct reports whether all of the workload's I/O goes past the page cache.
func (f *Facts) direct() bool {
	if slices.ContainsFunc(f.Measurement.Parts, func(p result.Part) bool { return p.Direct != "" && p.Direct != result.Direct }) {
		return false
	}
	d := f.Measurement.DirectIO
	return d != nil && d.Requested && d.Effective == result.Direct
}

var sequential = regexp.MustCompile(`(?m)^(rw|readwrite)=(read|write|rw|readwrite)$`)
var random = regexp.MustCompile(`(?m)^(rw|readwrite)=(rand|trim)`)

// smallRequest is the request from which on a bandwidth is the disk's, and not that of the
// way to it.
const smallRequest = 64 << 10

// blockSizeLimited: one small block at a time is not the disk's bandwidth.
func blockSizeLimited(f *Facts) []result.Verdict {
	input := f.Measurement.Input
	bandwidth := input == "" && f.has("write.durable.bandwidth") || input == "" && f.has("read.bandwidth") && !f.has("transaction.rate")
	if !bandwidth && (!sequential.MatchString(input) || random.MatchString(input)) {
		return nil
	}
	var out []result.Verdict
	for _, d := range []direction{f.reading(), f.writing()} {
		h := f.Measurement.Histograms[d.name]
		if h == nil || h.Count() == 0 || d.bytes < enough || !f.counted() {
			continue
		}
		block := d.bytes / float64(h.Count())
		requests, moved := f.value("device."+d.name+".count"), f.value("device."+d.name+".bytes")
		if requests == 0 || !f.direct() && (d.name == "write" || f.row != nil || moved < 0.5*d.bytes || f.deviceDepth() > 1.5) {
			continue // the page cache answers, or joins blocks; or each write is synced, which is then what is measured
		}
		request, depth := moved/requests, f.value(d.name+".bandwidth")/block*f.value(d.name+".latency.mean")
		if f.row != nil {
			request = block // those of all jobs are counted together, and nothing is joined to one block at a time
		}
		if block >= smallRequest || request >= smallRequest || depth > 1.5 || depth < 0.5 { // less: it pauses, or its rate was asked for
			continue
		}
		out = append(out, d.each(result.Verdict{
			Name: BlockSizeLimited, Effect: result.Qualifies, Settle: "Measure the same with blocks of 1 MiB.",
			Sentence: fmt.Sprintf("One block of %s at a time decides this bandwidth: it is the block over its latency, not what the disk can transfer.", report.Bytes(block)),
			Evidence: evidence(
				number{"block", result.Bytes, block},
				number{"request", result.Bytes, request},
				number{"depth", result.Count, depth},
			),
		})...)
	}
	return out
}

// impossible: no disk answers that fast.
func impossible(f *Facts) []result.Verdict {
	var out []result.Verdict
	link := 0.0
	for _, l := range result.Leaves(result.Written(f.Target.Layers)) {
		carries := carries(l)
		if carries <= 0 {
			link = 0
			break
		}
		link += carries
	}
	for _, d := range []direction{f.reading(), f.writing()} {
		p50, rate := cmp.Or(f.value(d.name+".latency.p50"), f.value(d.name+".completion.p50")), f.value(d.name+".bandwidth")
		if f.row != nil && f.row.whole.atOnce() {
			rate = max(rate, f.row.whole.value(d.name+".bandwidth")) // the jobs share the links
		}
		switch {
		case link > 0 && rate > 1.05*link:
			out = append(out, d.each(result.Verdict{
				Name: ImpossibleUncached, Effect: result.Invalidates, Settle: "Look for the cache that answers.",
				Sentence: fmt.Sprintf("%s per second is more than the links of the disks carry, %s per second.", report.Bytes(rate), report.Bytes(link)),
				Evidence: evidence(number{"rate", result.BytesPerSecond, rate}, number{"link", result.BytesPerSecond, link}),
			})...)
		case (f.direct() || f.Imported) && p50 > 0 && p50 < 2e-6:
			out = append(out, d.each(result.Verdict{
				Name: ImpossibleUncached, Effect: result.Invalidates, Settle: "Look for the cache that answers.",
				Sentence: fmt.Sprintf("Half of the I/Os took less than %.1f µs: memory is that fast, a disk is not.", max(0.1, p50*1e6)),
				Evidence: evidence(number{"p50", result.Seconds, p50}),
			})...)
		}
	}
	return out
}

// runnerDisturbs: storagebench itself used the CPU that the workload needed.
func runnerDisturbs(f *Facts) []result.Verdict {
	used := f.value("runner.cpu")
	// Of a short trial, starting the engine is a large share.
	if used <= 0.05 || f.value("device.seconds") < 1 {
		return nil
	}
	return []result.Verdict{{
		Name: RunnerDisturbs, Effect: result.Qualifies, Evidence: evidence(number{"cpu", result.Ratio, used}), Settle: "Report this as a fault of storagebench.",
		Sentence: fmt.Sprintf("storagebench itself used %s of a core during the trial.", percent(used)),
	}}
}
