package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// Names of the verdicts.
const (
	FromMemory          = "FromMemory"
	CachedBelow         = "CachedBelow"
	MemoryBacked        = "MemoryBacked"
	DataReduced         = "DataReduced"
	ImpossibleUncached  = "ImpossibleUncached"
	NoDeviceEvidence    = "NoDeviceEvidence"
	DirectIOFallback    = "DirectIOFallback"
	WorkingSetTooSmall  = "WorkingSetTooSmall"
	ThinReads           = "ThinReads"
	ThinTrims           = "ThinTrims"
	UnsafeConfiguration = "UnsafeConfiguration"
	NotSteady           = "NotSteady"
	SameDevice          = "SameDevice"
	BackgroundIO        = "BackgroundIO"
	NoisyNeighbour      = "NoisyNeighbour"
	Throttled           = "Throttled"
	CPUThrottled        = "CPUThrottled"
	CPUBound            = "CPUBound"
	QueueHidesLatency   = "QueueHidesLatency"
	DepthIgnored        = "DepthIgnored"
	BlockSizeLimited    = "BlockSizeLimited"
	RunnerDisturbs      = "RunnerDisturbs"
	ToolErrors          = "ToolErrors"
	Overloaded          = "Overloaded"
	MayIgnoreFlushes    = "MayIgnoreFlushes"
	FlushesUnproven     = "FlushesUnproven"
)

// Names are all of them.
var Names = []string{
	FromMemory, CachedBelow, MemoryBacked, DataReduced, ImpossibleUncached, NoDeviceEvidence, DirectIOFallback, WorkingSetTooSmall, ThinReads, ThinTrims,
	UnsafeConfiguration, NotSteady, SameDevice, BackgroundIO, NoisyNeighbour, Throttled, CPUThrottled, CPUBound, QueueHidesLatency, DepthIgnored, BlockSizeLimited, RunnerDisturbs, ToolErrors, Overloaded, MayIgnoreFlushes, FlushesUnproven,
}

// Facts are what is judged.
type Facts struct {
	// Measurement of the trial. Its metrics include those of the disks.
	Measurement result.Measurement
	// Samples of the trial over time; nil: there are none.
	Samples *samples.Table
	// Tunables that were set during the trial.
	Tunables []result.Tunable
	// Imported reports that another tool's output is all that is known.
	Imported bool
	// Printed is what that output tells, and what the user adds.
	Printed Printed
	// Target and Memory of the worker's environment. The target's layers are those at the trial's
	// beginning.
	Target result.TargetEnvironment
	// After are the layers when the trial had ended, if they were others.
	After []result.Layer
	// Earlier are the metrics of earlier trials of the same workload and variant.
	Earlier []result.Metrics
	// TrimmedBefore is what earlier trials trimmed of the same target, in bytes, with nothing written since.
	TrimmedBefore float64
	// Precondition of the workload in the trial's attempt; nil: there was none.
	Precondition *result.Precondition
	// Activities of the kernel on the layers.
	Activities []result.Activity
	Memory     result.Memory

	// row: the facts are of a row of several jobs, and not of the whole trial.
	row *row
	// ran is when it was measured, if it is one of several.
	ran ran
	// whole are the metrics of all of the trial, where those of the measurement are of the part that was measured, and
	// mixed reports that the disks' counters hold more than that part, and nobody can tell how much.
	whole result.Metrics
	mixed bool
}

// Of returns the facts of a trial.
func Of(d *result.Trial, e *result.Environment) Facts {
	f := Facts{Measurement: d.Measurement, Tunables: d.Tunables, After: d.LayersAfter, Activities: d.Activities}
	if e != nil {
		f.Target, f.Memory = e.Target, e.Memory
	}
	if len(d.Layers) > 0 {
		f.Target.Layers = d.Layers
	}
	return f
}

// operations of the trial. Those of another tool's output are not always named: then what has a
// rate is one.
func (f *Facts) operations() []string {
	if len(f.Measurement.Operations) > 0 {
		return f.Measurement.Operations
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f.Measurement.Metrics)) {
		for _, rate := range []string{".iops", ".rate", ".bandwidth"} {
			if op, ok := strings.CutSuffix(name, rate); ok && !slices.Contains(out, op) && !strings.HasPrefix(name, "device.") {
				out = append(out, op)
			}
		}
	}
	return out
}

// check answers one question.
type check func(f *Facts) []result.Verdict

// question of the chain: a check, and whether it is asked of each row of several jobs by itself.
type question struct {
	check check
	byRow bool
}

func ofTrials(checks ...check) []question { return questions(checks, false) }
func ofRows(checks ...check) []question   { return questions(checks, true) }

func questions(checks []check, byRow bool) []question {
	var out []question
	for _, c := range checks {
		out = append(out, question{c, byRow})
	}
	return out
}

// chain holds the checks in the order in which their verdicts are reported. A check that names
// a cause comes before the one that sees only its effect.
var chain = slices.Concat(
	ofTrials(memoryBacked), ofRows(cachedBelow, thinReads), ofTrials(thinTrims), ofRows(dataReduced, repeats, fromMemory), ofTrials(unsynced, drained),
	ofRows(directIOFallback, impossible), ofTrials(heads), ofRows(aboveLink), ofTrials(leftInMemory, readBack), ofRows(onlyStarts), ofTrials(unsafe,
		toolErrors, overloaded, ladder, limitChanged, throttled, cpuThrottled, cpuBound, queueHidesLatency), ofRows(offTheDepth, depthIgnored, blockSizeLimited, smallBlocks),
	ofTrials(backgroundIO, foreignRequests, noisyNeighbour, noisyBelow, flushesOfOthers, comesAndGoes, betweenTrials), ofRows(notSteady), ofTrials(neverSteady, tooSmall), ofRows(workingSet),
	ofTrials(noDeviceEvidence, runnerDisturbs),
)

// Judge returns the verdicts on a trial, those that invalidate first. There is at most one of a
// name for each operation of a row.
func Judge(f Facts) []result.Verdict {
	f.whole = f.Measurement.Metrics
	var known bool
	f.Measurement.Metrics, _, known = f.MeasuredPart()
	f.mixed = !known
	rows := f.rows()
	var out []result.Verdict
	for _, q := range chain {
		ask := q.check
		if q.byRow && len(rows) > 0 {
			ask = func(f *Facts) []result.Verdict { return f.byRow(rows, q.check) }
		}
		for _, v := range ask(&f) {
			out = f.add(out, v)
		}
	}
	for _, v := range slices.Concat(onTime(rows), ofWholes(&f, out)) {
		out = f.add(out, v)
	}
	for _, v := range ofMixtures(&f, rows, out) {
		out = f.add(out, v)
	}
	slices.SortStableFunc(out, func(a, b result.Verdict) int { return cmp.Compare(rank(a.Effect), rank(b.Effect)) })
	return out[:min(len(out), result.MaxVerdicts)]
}

// plain replaces what would break a line or steer a terminal: names of files can hold anything.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

func rank(e result.Effect) int {
	if e == result.Invalidates {
		return 0
	}
	return 1
}

// value returns a metric, or 0 if it was not measured, or is no number that anything measures.
func (f *Facts) value(name string) float64 { return sane(f.Measurement.Metrics[name].Value) }

// inAll is value, of all of the trial and not only of the part that was measured.
func (f *Facts) inAll(name string) float64 {
	if f.whole == nil {
		return f.value(name)
	}
	return sane(f.whole[name].Value)
}

func sane(v float64) float64 {
	if math.IsNaN(v) || v < 0 || v > 1e300 {
		return 0
	}
	return v
}

func (f *Facts) has(name string) bool { _, ok := f.Measurement.Metrics[name]; return ok }

// direction is reading or writing: which operations do it, and what they moved.
type direction struct {
	// name is read or write, as in the names of metrics.
	name string
	// operations of the workload.
	operations []string
	// bytes that the workload moved.
	bytes float64
	// together reports that several tests, or jobs, moved the bytes, of which some may have been served
	// from memory and others not.
	together bool
}

const (
	// enough is how many bytes tell what moved them. Of less, metadata and what is on its way would be a large share.
	enough = 1 << 20
	// some is how many bytes tell that no disk moved them: metadata can only hide that.
	some = 64 << 10
)

// reading returns what the workload read.
func (f *Facts) reading() direction { return f.direction("read", isRead) }

// writing returns what the workload wrote.
func (f *Facts) writing() direction { return f.direction("write", isWrite) }

// inDirection is what the workload read, or wrote.
func (f *Facts) inDirection(name string) direction {
	if name == "read" {
		return f.reading()
	}
	return f.writing()
}

func (f *Facts) direction(name string, is func(string) bool) direction {
	d := direction{name: name, bytes: f.value(name + ".bytes")}
	if tests := "tests." + name + ".bytes"; f.has(tests) {
		d.bytes, d.together = f.value(tests), true
	}
	jobs := 0
	for _, p := range f.Measurement.Parts {
		if slices.ContainsFunc(p.Operations, is) {
			jobs++
		}
	}
	d.together = d.together || jobs > 1
	for _, op := range f.operations() {
		if is(op) {
			d.operations = append(d.operations, op)
		}
	}
	return d
}

// onlyReads reports whether each operation of the workload is a read.
func (f *Facts) onlyReads() bool {
	return !slices.ContainsFunc(f.operations(), func(op string) bool { return !isRead(op) })
}

func isRead(op string) bool {
	return op == "read" || op == "seek" || op == "reread" || op == "freread" || op == "fread" || op == "pread" || strings.HasPrefix(op, "read.") || strings.HasSuffix(op, ".read")
}

func isWrite(op string) bool {
	switch op {
	case "write", "rewrite", "append", "create", "fwrite", "frewrite", "pwrite", "mixed": // of iozone's mixed, a part is writes
		return true
	case "write.durable": // its clock stops when the data is on the disk
		return false
	}
	return strings.HasPrefix(op, "write.") || strings.HasSuffix(op, ".write") || strings.HasSuffix(op, ".rewrite")
}

// each returns a verdict for each operation of the direction.
func (d direction) each(v result.Verdict) []result.Verdict {
	var out []result.Verdict
	for _, op := range d.operations {
		v.Operation = op
		out = append(out, v)
	}
	return out
}

// number is one of the numbers of a verdict's evidence.
type number struct {
	name, unit string
	value      float64
}

// evidence leaves out what is no number, such as a rate over no time.
func evidence(numbers ...number) result.Metrics {
	m := result.Metrics{}
	for _, n := range numbers {
		if !math.IsNaN(n.value) && !math.IsInf(n.value, 0) {
			m.Set(n.name, n.unit, n.value)
		}
	}
	return m
}

// percent writes a share.
func percent(share float64) string {
	switch p := share * 100; {
	case p > 99 && p < 100:
		return "more than 99 %"
	case p < 1 && p > 0:
		return "less than 1 %"
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// effect of a share of an operation that was not done by the storage: from a tenth on it
// qualifies the number, and from a half on the median is not the storage's any more.
func effect(share float64) (result.Effect, bool) {
	switch {
	case math.IsNaN(share) || share <= 0.1:
		return "", false
	case share < 0.5:
		return result.Qualifies, true
	default:
		return result.Invalidates, true
	}
}
