package verdict

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// The disks are counted from the tool's start to its end. fio counts only the part that it measures. What it
// does before that, on the same disks, is neither a neighbour's nor a proof that no memory answered.
var (
	jobSection = regexp.MustCompile(`(?m)^\[`)
	ramp       = regexp.MustCompile(`(?m)^ramp_time=(0*[1-9].*)$`)
	preRead    = regexp.MustCompile(`(?m)^pre_read=1$`)
	// searched is a depth that fio searches for. At each step it forgets what it has counted.
	searched = regexp.MustCompile(`(?m)^latency_target=(0*[1-9].*)$`)
	// readsFiles is a job that reads.
	readsFiles = regexp.MustCompile(`(?m)^(rw|readwrite)=(rand)?(read|rw|readwrite)\b`)
	runsFor    = regexp.MustCompile(`(?m)^runtime=(.*)$`)
	timeBased  = regexp.MustCompile(`(?m)^time_based=(1)$`)
	startDelay = regexp.MustCompile(`(?m)^startdelay=(.*)$`)
	// inTurns are options of jobs that wait for others.
	inTurns = regexp.MustCompile(`(?m)^(?:stonewall|wait_for_previous|wait_for)=`)
)

// least is the least share of the workload's own bytes that stands for all of them.
const least = 0.25

// MeasuredPart returns the metrics of the part of the trial that the tool measured: both the workload's bytes and what the
// disks did. Share is how much of what the workload did that is. Where nothing comes before that part, it is everything.
// If what comes before it cannot be told apart, known is false, and the disks' counters are absent.
func (f Facts) MeasuredPart() (part result.Metrics, share float64, known bool) {
	all := f.Measurement.Metrics
	// A ramp, and a layout of files, take long enough to be seen in samples. A pre_read may not, but its bytes are known.
	ramps, lays, reads := f.ramps(), f.laysOut(), preRead.MatchString(f.Measurement.Input) && len(f.reading().operations) > 0
	searches := searched.MatchString(f.Measurement.Input)
	compared := len(f.reading().operations)+len(f.writing().operations) > 0 // trims are not
	if f.Imported || !compared || !f.counted() && !f.has("zfs.arc.hits") || !ramps && !lays && !reads && !searches {
		return all, 1, true
	}
	part = maps.Clone(all)
	switch before := f.value(result.PreReadBytes); {
	case searches:
	case !ramps && !lays && before > 0:
		subtract(part, "device.read.bytes", before)
		subtract(part, "below.read.bytes", before)
		return part, 1, true
	case (ramps || lays) && f.beginsOnce():
		if share, ok := f.cut(part); ok {
			return part, share, true
		}
	}
	part = maps.Clone(all)
	for _, name := range ofCounters {
		delete(part, name)
	}
	return part, 1, false
}

// ofCounters are the metrics of counters that also hold what comes before the measured part.
var ofCounters = []string{
	"device.read.bytes", "device.write.bytes", "device.read.count", "device.write.count", "device.flush.count", "device.queue.depth",
	"below.read.bytes", "below.write.bytes", "others.read.bytes", "others.write.bytes", "zfs.arc.hits", "zfs.arc.misses",
}

func (f *Facts) ramps() bool { return ramp.MatchString(f.Measurement.Input) }

// laysOut reports whether fio writes files before it reads them, as its option unlink makes it do in each trial.
func (f *Facts) laysOut() bool {
	texts := sections(f.Measurement.Input)
	written := func(c result.FileChoice) bool {
		// Of several jobs, one that only writes needs no files before it begins.
		return c.Files == result.Overwrite || len(texts) > 1 && !readsFiles.MatchString(texts[c.Job])
	}
	return f.Target.FilesystemType != "" && len(f.reading().operations) > 0 && !allOf(f.Measurement.Files, written)
}

func allOf(choices []result.FileChoice, is func(result.FileChoice) bool) bool {
	return !slices.ContainsFunc(choices, func(c result.FileChoice) bool { return !is(c) })
}

// beginsOnce reports whether all jobs are measured from the same moment on, so that what comes before it is before
// all of the measured part. Files are laid out before any job runs.
func (f *Facts) beginsOnce() bool {
	text := f.Measurement.Input
	return !f.ramps() || jobs(text) <= 1 || !inTurns.MatchString(text) && alike(text, ramp) && alikeOrNone(text, startDelay)
}

// atOnce reports whether all threads are measured from the same moment on for the same time, so that the rate of all of
// them together only changes if the storage does.
func (f *Facts) atOnce() bool {
	text := f.Measurement.Input
	return !inTurns.MatchString(text) && !latencyTarget.MatchString(text) && alike(text, runsFor) && alike(text, timeBased) && alikeOrNone(text, startDelay) && alikeOrNone(text, ramp)
}

// jobs of a job file.
func jobs(text string) int { return len(jobSection.FindAllString(text, -1)) }

// alike reports whether all jobs have an option, with the same value.
func alike(text string, option *regexp.Regexp) bool {
	found := option.FindAllStringSubmatch(text, -1)
	return len(found) == jobs(text) && !slices.ContainsFunc(found, func(m []string) bool { return m[1] != found[0][1] })
}

func alikeOrNone(text string, option *regexp.Regexp) bool {
	return !option.MatchString(text) || alike(text, option)
}

// cut takes out of metrics what happened until the end of the first sample in which the workload has a row, which
// it may have begun in its middle. What is left includes what comes after the last one, such as a sync. It reports which
// share of the workload is left.
func (f *Facts) cut(part result.Metrics) (share float64, ok bool) {
	at, ok := f.measuredFrom()
	unknown := func(p result.Part) bool { return p.EndedAt.IsZero() }
	if !ok || len(f.Measurement.Parts) > 1 && slices.ContainsFunc(f.Measurement.Parts, unknown) {
		return 0, false // or a job that was too short to be sampled may have been measured before
	}
	t, whole := f.Samples, f.value("device.seconds")
	sum := func(scope samples.Scope, name string, c samples.Column) float64 {
		return t.Sum(scope, name, c, func(row int) bool { return !t.At[row].After(at) })
	}
	seconds, depth, counted := sum(samples.Machine, "", samples.Seconds), part["device.queue.depth"].Value*whole, f.Target.Counted()
	for _, name := range t.Names(samples.Disk) {
		prefix := "below."
		if slices.Contains(counted, name) {
			prefix = "device."
		}
		for metric, column := range columnsOf {
			subtract(part, prefix+metric, sum(samples.Disk, name, column))
		}
	}
	for _, name := range counted {
		if len(t.Select(samples.Disk, name)) == 0 {
			return 0, false // more disks than are sampled
		}
		for _, row := range t.Select(samples.Disk, name) {
			if !t.At[row].After(at) {
				depth -= t.Values[samples.QueueDepth][row] * t.Values[samples.Seconds][row]
			}
		}
	}
	subtract(part, "zfs.arc.hits", sum(samples.Machine, "", samples.ARCHits))
	subtract(part, "zfs.arc.misses", sum(samples.Machine, "", samples.ARCMisses))
	if subtract(part, "device.seconds", seconds); seconds < whole {
		part.Set("device.queue.depth", result.Count, max(0, depth/(whole-seconds)))
	}
	var own, left float64
	for _, d := range []direction{f.reading(), f.writing()} {
		for _, op := range d.operations {
			own += f.value(op + ".bytes")
			subtract(part, op+".bytes", sum(samples.Workload, op, samples.Bytes))
			left += part[op+".bytes"].Value
		}
	}
	for _, name := range ofCounters {
		if math.IsNaN(part[name].Value) {
			return 0, false // a sample lacks it
		}
	}
	return left / own, left >= enough && left >= least*own
}

// subtract takes n from a metric, if there is one.
func subtract(from result.Metrics, name string, n float64) {
	if m, ok := from[name]; ok {
		m.Value = max(0, m.Value-n)
		from[name] = m
	}
}

// columnsOf are the samples of a disk that the metrics of its counters are sums of.
var columnsOf = map[string]samples.Column{
	"read.bytes": samples.ReadBytes, "write.bytes": samples.WriteBytes, "read.count": samples.ReadCount, "write.count": samples.WriteCount, "flush.count": samples.FlushCount,
}

// measuredFrom is the end of the first sample in which the workload was measured.
func (f *Facts) measuredFrom() (at time.Time, ok bool) {
	if f.Samples == nil {
		return at, false
	}
	for i, scope := range f.Samples.Scope {
		if scope == samples.Workload && (!ok || f.Samples.At[i].Before(at)) {
			at, ok = f.Samples.At[i], true
		}
	}
	return at, ok
}
