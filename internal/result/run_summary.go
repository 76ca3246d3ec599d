package result

import (
	"time"

	"storagebench.io/storagebench/internal/trial"
)

// Summary is the run's document: summary.json.
type Summary struct {
	Schema     string          `json:"schema"`
	Benchmark  trial.Benchmark `json:"benchmark"`
	Run        string          `json:"run"`
	FinishedAt time.Time       `json:"finishedAt"`
	Planned    int             `json:"planned"`
	Stored     int             `json:"stored"`
	Rows       []Row           `json:"rows"`
	// Comparisons of variants with the control; none in a run without variants.
	Comparisons []Comparison `json:"comparisons,omitempty"`
	// Sweeps of workloads over their parameters, on each target and node.
	Sweeps []Sweep `json:"sweeps,omitempty"`
	// Baseline is the comparison with an earlier run, if the benchmark asks for one.
	Baseline *Baseline `json:"baseline,omitempty"`
	// Configuration is what was measured, by "workload NAME", "variant NAME", "target NAME" and
	// "class of target NAME": a digest, or what a target refers to. Runs with different ones measured different things.
	Configuration map[string]string `json:"configuration,omitempty"`
	// Gates of the benchmark, on each of their rows.
	Gates []Gate `json:"gates,omitempty"`
	// GatesOmitted is the number of gates that there is no room for; all of them count in the answer.
	GatesOmitted int `json:"gatesOmitted,omitempty"`
	// Answer of the run; absent in documents of releases that gave none.
	Answer *Answer `json:"answer,omitempty"`
	// Environment by worker.
	Environment map[string]*Environment `json:"environment"`
	// Attempts by worker.
	Attempts map[string][]Attempt `json:"attempts"`
	// Failures by worker.
	Failures map[string]*trial.Failure `json:"failures,omitempty"`
	// Imported is present if the summary was imported from another tool's output.
	Imported *Imported `json:"imported,omitempty"`
}

// Row is what one workload, or a part of it, measured with one variant on one target and
// node.
type Row struct {
	Target   string `json:"target"`
	Workload string `json:"workload"`
	// Variant is empty in a run without variants.
	Variant string `json:"variant,omitempty"`
	// Part of the workload, such as a job of a fio job file; empty: the whole. If the whole
	// is a mixture, its row has only what belongs to no part, such as the disks' counters.
	Part string `json:"part,omitempty"`
	Node string `json:"node"`
	// N is the number of measured trials.
	N int `json:"n"`
	// Volumes is how many volumes, or rounds, the trials are from; 0: one. With more, each
	// metric's median is the geometric mean of the volumes', and its interval Student's t on them,
	// absent below 3.
	Volumes int `json:"volumes,omitempty"`
	// SpeaksFor says what the row's intervals are about.
	SpeaksFor string `json:"speaksFor,omitempty"`
	// Stopped says why there are fewer than planned, if it was because there need be no more.
	Stopped StopReason `json:"stopped,omitempty"`
	// TrialSeconds is how long a trial measured, at the median, if that was less than a second: then start,
	// end and caches weigh more than the storage. 0: it was longer, or is not known.
	TrialSeconds float64             `json:"trialSeconds,omitempty"`
	Metrics      map[string]Estimate `json:"metrics"`
	// Operations in the engine's order, or sorted by name.
	Operations []string `json:"operations,omitempty"`
	// Files is what trials found of their files: Fresh, Overwrite, AsFound, or Mixed if jobs or
	// trials differ.
	Files FileState `json:"files,omitempty"`
	// Verdicts are what the numbers are worth, those that invalidate first.
	Verdicts []RowVerdict `json:"verdicts,omitempty"`
	// Histograms of all trials, merged.
	Histograms Histograms `json:"histograms"`
	// HistogramsOmitted reports that the run has too many rows to hold all histograms:
	// those of this row are only in its worker's summary.
	HistogramsOmitted bool `json:"histogramsOmitted,omitempty"`
}

// Estimate is a median over trials. Low and High are its 95 % interval, absent
// if there are too few trials. Pooled is the percentile of the merged
// histogram, for latency percentiles.
//
// Of a trial that only gives a lower bound, the bound takes part in the median. If the median may
// be above what that gives, AtLeast says so; if the interval's high end may be, there is none.
type Estimate struct {
	Unit   string   `json:"unit"`
	N      int      `json:"n"`
	Median float64  `json:"median"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Pooled *float64 `json:"pooled,omitempty"`
	// Autocorrelation of a trial's value with the one before, if the interval was widened for it.
	Autocorrelation float64 `json:"autocorrelation,omitempty"`
	// Bounds is how many of the N trials only give a lower bound.
	Bounds int `json:"bounds,omitempty"`
	// AtLeast reports that the median is a lower bound itself.
	AtLeast bool `json:"atLeast,omitempty"`
}
