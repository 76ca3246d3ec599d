package result

import (
	"slices"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/trial"
)

// Versions of the documents.
const (
	TrialSchema   = "storagebench.io/trial.v1"
	WorkerSchema  = "storagebench.io/worker.v1"
	SummarySchema = "storagebench.io/summary.v1"
)

// Units of metrics.
const (
	PerSecond      = "1/s"
	BytesPerSecond = "bytes/s"
	Seconds        = "seconds"
	Bytes          = "bytes"
	Count          = "count"
	Ratio          = "ratio"
)

// Metric is one value of one trial.
type Metric struct {
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	// AtLeast reports that the value is a lower bound: the tool found the test too fast to be
	// measured.
	AtLeast bool `json:"atLeast,omitempty"`
}

// Metrics are keyed by name, <operation>.<quantity>.
type Metrics map[string]Metric

// Set adds or replaces a metric.
func (m Metrics) Set(name, unit string, value float64) { m[name] = Metric{Unit: unit, Value: value} }

// SetAtLeast adds or replaces a metric of which only a lower bound is known.
func (m Metrics) SetAtLeast(name, unit string, value float64) {
	m[name] = Metric{Unit: unit, Value: value, AtLeast: true}
}

// Percentiles that become metrics, by name.
var percentiles = []struct {
	name string
	p    float64
}{{"p50", 50}, {"p95", 95}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}}

// SetLatency sets the latency metrics of an operation: mean and max in
// nanoseconds, as measured, and percentiles from the histogram if it is not empty.
func (m Metrics) SetLatency(operation string, mean, highest float64, h *histogram.Histogram) {
	m.SetTimes(operation+".latency", mean, highest, h)
}

// SetTimes is SetLatency for times of any name, such as read.completion.
func (m Metrics) SetTimes(name string, mean, highest float64, h *histogram.Histogram) {
	seconds := func(quantity string, ns float64) { m.Set(name+"."+quantity, Seconds, ns/1e9) }
	seconds("mean", mean)
	seconds("max", highest)
	if h.Count() == 0 {
		return
	}
	for i, ns := range h.Percentiles(ofMetrics()...) {
		seconds(percentiles[i].name, float64(ns))
	}
}

func ofMetrics() (ps []float64) {
	for _, p := range percentiles {
		ps = append(ps, p.p)
	}
	return ps
}

// Percentiles returns the percentiles in seconds, by the metrics that engines and observers name so:
// read.latency.p99 of the histogram read, read.completion.p99 of read.completion, and
// device.read.wait.p99 alike. Other names are nobody's, and each would cost time.
func (h Histograms) Percentiles() map[string]float64 {
	out := map[string]float64{}
	for of, times := range h {
		if times == nil || times.Count() == 0 {
			continue
		}
		if !strings.HasSuffix(of, ".completion") && !strings.HasSuffix(of, ".wait") {
			of += ".latency"
		}
		for i, ns := range times.Percentiles(ofMetrics()...) {
			out[of+"."+percentiles[i].name] = float64(ns) / 1e9
		}
	}
	return out
}

// Histograms are latencies keyed by operation (read, write, trim, sync); of an imported
// report without total latencies, by read.completion and the like.
type Histograms map[string]*histogram.Histogram

// Merge adds the histograms of other, operation by operation.
func (h Histograms) Merge(other Histograms) {
	for op, o := range other {
		if h[op] == nil {
			h[op] = &histogram.Histogram{}
		}
		h[op].Merge(o)
	}
}

// Outcome of a trial.
type Outcome string

// Outcomes of a trial. A failed one has a failure, and its metrics do not
// count.
const (
	Measured Outcome = "Measured"
	Failed   Outcome = "Failed"
)

// Trial is the document of one trial: workers/<worker>/trials/<id>.json.
type Trial struct {
	// Seal is read by SealingKey.Sealed, and never written from here.
	Seal      string          `json:"seal,omitempty"`
	Schema    string          `json:"schema"`
	Benchmark trial.Benchmark `json:"benchmark"`
	Run       string          `json:"run"`
	Worker    trial.Worker    `json:"worker"`
	Trial     trial.Trial     `json:"trial"`
	Engine    string          `json:"engine"`
	// Attempt is the number of the worker's Pod that ran the trial, from 1.
	Attempt   int       `json:"attempt"`
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`
	// Seconds that the trial took in all, with what was done before it and after it, but without its
	// precondition.
	Seconds float64        `json:"seconds,omitempty"`
	Outcome Outcome        `json:"outcome"`
	Failure *trial.Failure `json:"failure,omitempty"`
	// Precondition that ran before the trial, if it is its workload's first in the attempt.
	Precondition *Precondition `json:"precondition,omitempty"`
	// Tunables that were set for the trial and restored after it.
	Tunables []Tunable `json:"tunables,omitempty"`
	// Samples is what was read every second, or more often, while the trial ran, as a
	// Parquet file in the store.
	Samples *Object `json:"samples,omitempty"`
	// Layers of the storage when the trial began, if they were not as in the worker's environment.
	Layers []Layer `json:"layers,omitempty"`
	// LayersAfter are the layers when the trial had ended, if they were not as when it began.
	LayersAfter []Layer `json:"layersAfter,omitempty"`
	// Activities are what the kernel did on the layers besides, when the trial began or when it had
	// ended.
	Activities []Activity `json:"activities,omitempty"`
	Measurement
}

// Tunable is a setting of the storage during a trial.
type Tunable struct {
	Name string `json:"name"`
	// On is the device or dataset that the tunable belongs to; empty: the node.
	On     string `json:"on,omitempty"`
	Asked  string `json:"asked"`
	Before string `json:"before"`
	// During is the value read back after it was set.
	During string `json:"during"`
	// Restored reports that the old value is in effect again, and Restoring
	// says how that came about.
	Restored  bool   `json:"restored"`
	Restoring string `json:"restoring,omitempty"`
}

// Measurement is what an engine returns of one trial.
type Measurement struct {
	// Metrics of the trial as a whole.
	Metrics Metrics `json:"metrics,omitempty"`
	// Histograms of the trial as a whole.
	Histograms Histograms `json:"histograms,omitempty"`
	// Operations that were measured, the most important one first. Empty: those
	// that have a rate, sorted by name.
	Operations []string `json:"operations,omitempty"`
	// Parts of the trial that the engine distinguishes, such as the jobs of a fio job
	// file.
	Parts []Part `json:"parts,omitempty"`
	// PartsOnly reports that the operations of the trial as a whole are a mixture of its
	// parts, such as jobs that ran one after the other, which no row shows.
	PartsOnly bool `json:"partsOnly,omitempty"`
	// Devices are the requests of the leaf disks, if the worker could observe them: see
	// environment.observers.
	Devices []DeviceRequests `json:"devices,omitempty"`
	// DirectIO tells whether direct I/O was requested and whether it was in
	// effect.
	DirectIO *DirectIO `json:"directIO,omitempty"`
	// Files is what the trial found of its files, by job, if the engine has a choice.
	Files []FileChoice `json:"files,omitempty"`
	// Size that was chosen because the workload gives none, and why.
	Size *SizeChoice `json:"size,omitempty"`
	// Seed of the trial's random choices. 0: the engine makes none, or the workload's own
	// options decide.
	Seed uint32 `json:"seed,omitempty"`
	// Command is the argument vector of the tool, if there was one.
	Command []string `json:"command,omitempty"`
	// Input is the tool's input, such as fio's job file.
	Input string `json:"input,omitempty"`
	// Stderr is the last 16 KiB of the tool's stderr. Output there does not
	// mean a failure.
	Stderr string `json:"stderr,omitempty"`
	// Changes are what of the workload was not done as it is written, one line each.
	Changes []string `json:"changes,omitempty"`
	// Notes are what readers of the numbers must know.
	Notes []string `json:"notes,omitempty"`
	// Verdicts are what the numbers are worth.
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Raw is the tool's own output in the store.
	Raw *Object `json:"raw,omitempty"`
	// RawOutput is the tool's own output. The runner stores it as a separate
	// object.
	RawOutput []byte `json:"-"`
	// Rates are what the engine did over time, for the samples.
	Rates []Rate `json:"-"`
	// EngineCPU is the CPU time that an engine without a program of its own used for
	// measuring, in the process in which the engine runs.
	EngineCPU time.Duration `json:"-"`
	// Elapsed is how long the engine ran, if it ran in a process of its own, whose start
	// does not count; else 0. RunnerCPU is CPU time that all else took meanwhile.
	Elapsed, RunnerCPU time.Duration `json:"-"`
}

// Part is one named part of a trial, with the numbers of that part only.
type Part struct {
	Name       string     `json:"name"`
	Metrics    Metrics    `json:"metrics"`
	Histograms Histograms `json:"histograms,omitempty"`
	// Operations of the part, if it is a row of its own; up to MaxRowParts are.
	Operations []string `json:"operations,omitempty"`
	// StartedAt and EndedAt are when its jobs were measured, where the trial has several; zero: that was too short to be noted.
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	// Direct is what happened to its direct I/O; empty: not known, or not the same for all jobs of a sum.
	Direct DirectMode `json:"direct,omitempty"`
}

// DirectMode is what happened to direct I/O.
type DirectMode string

// Modes of direct I/O in effect.
const (
	// Direct: I/O bypassed the page cache.
	Direct DirectMode = "Direct"
	// Buffered: direct I/O was not requested.
	Buffered DirectMode = "Buffered"
	// CachedAnyway: the system accepted O_DIRECT, but the pages were in the page cache
	// anyway.
	CachedAnyway DirectMode = "CachedAnyway"
	// DirectRefused: the system refused open or I/O with O_DIRECT.
	DirectRefused DirectMode = "Refused"
	// DirectUnknown: the kernel does not tell (a ZFS ARC is not the page cache).
	DirectUnknown DirectMode = "Unknown"
)

func (m DirectMode) known() bool {
	return slices.Contains([]DirectMode{Direct, Buffered, CachedAnyway, DirectRefused, DirectUnknown}, m)
}

// DirectIO is what was requested, what was in effect, and the evidence for
// that.
type DirectIO struct {
	Requested bool       `json:"requested"`
	Effective DirectMode `json:"effective"`
	Evidence  string     `json:"evidence"`
}

// Object is one stored object.
type Object struct {
	Key    string `json:"key"`
	Bytes  int    `json:"bytes"`
	Digest string `json:"digest"` // sha256:…
}

// WorkerSummary holds the folded trials of a worker: workers/<worker>/summary.json.
type WorkerSummary struct {
	// Seal as in a trial's document.
	Seal      string          `json:"seal,omitempty"`
	Schema    string          `json:"schema"`
	Benchmark trial.Benchmark `json:"benchmark"`
	Run       string          `json:"run"`
	Worker    trial.Worker    `json:"worker"`
	Planned   int             `json:"planned"`
	Trials    []TrialSummary  `json:"trials"`
	// Stopped are the workloads that have fewer trials than planned because they need no more.
	Stopped     []Stopped      `json:"stopped,omitempty"`
	Workloads   []WorkloadPool `json:"workloads"`
	Attempts    []Attempt      `json:"attempts"`
	Environment *Environment   `json:"environment,omitempty"`
	Failure     *trial.Failure `json:"failure,omitempty"`
}

// StopReason says why a workload is measured no more.
type StopReason string

// Reasons to stop before the last planned trial.
const (
	// StopHalfWidth: its intervals are as narrow as the spec asks for.
	StopHalfWidth StopReason = "HalfWidth"
	// StopGates: all of its gates are decided.
	StopGates StopReason = "Gates"
	// StopFutile: no trial up to the maximum can decide the gates that are open, whatever it measures.
	StopFutile StopReason = "Futile"
	// StopKnee: its search has an answer, or has ended without one.
	StopKnee StopReason = "Knee"
	// StopBudget: the time for trials above their minimum is spent.
	StopBudget StopReason = "Budget"
)

// Stopped is a workload, with each of its variants or one of them, that was measured no more after
// so many repeats.
type Stopped struct {
	trial.Cell
	Repeats int        `json:"repeats"`
	Reason  StopReason `json:"reason"`
}

// Name of what was stopped: <workload>, or <workload>.<variant>.
func (s Stopped) Name() string {
	if s.Variant == "" {
		return s.Workload
	}
	return s.Workload + "." + s.Variant
}

// TrialSummary is a trial's headline values, and where its document is.
type TrialSummary struct {
	trial.Trial
	// Seconds as in the trial's document.
	Seconds float64 `json:"seconds,omitempty"`
	Outcome Outcome `json:"outcome"`
	Attempt int     `json:"attempt"`
	// StartedAt and EndedAt as in the trial's document; absent in summaries of older releases.
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	Object    Object    `json:"object"`
	// Precondition as in the trial's document.
	Precondition *Precondition `json:"precondition,omitempty"`
	Metrics      Metrics       `json:"metrics,omitempty"`
	// Operations as in the trial's document; none if PartsOnly is set there.
	Operations []string `json:"operations,omitempty"`
	// Files as in the trial's document, if they are the same for all jobs; else Mixed.
	Files FileState `json:"files,omitempty"`
	// Parts that are rows of their own.
	Parts []PartSummary `json:"parts,omitempty"`
	// Tunables as in the trial's document, the first 64 of them.
	Tunables []Tunable `json:"tunables,omitempty"`
	// Verdicts as in the trial's document.
	Verdicts []Verdict      `json:"verdicts,omitempty"`
	Failure  *trial.Failure `json:"failure,omitempty"`
}

// PartSummary is the headline values of a part.
type PartSummary struct {
	Name       string    `json:"name"`
	Metrics    Metrics   `json:"metrics"`
	Operations []string  `json:"operations"`
	Files      FileState `json:"files,omitempty"`
}

// WorkloadPool holds the histograms of all measured trials of a workload with one
// variant, merged; or those of a part of it.
type WorkloadPool struct {
	trial.Cell
	Part       string     `json:"part,omitempty"`
	Histograms Histograms `json:"histograms"`
}

// Attempt is one Pod of a worker.
type Attempt struct {
	Number    int       `json:"number"`
	Host      string    `json:"host"`
	StartedAt time.Time `json:"startedAt"`
	// ResumedAfter is the number of trials that were already stored when it
	// began.
	ResumedAfter int `json:"resumedAfter"`
	// Claimed reports that the worker checked that the block device holds nobody's
	// data. For a volume, the data on it is the worker's own from then on; for a device of the
	// node, only a record on the node says so.
	Claimed bool `json:"claimed,omitempty"`
}
