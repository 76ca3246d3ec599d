package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StorageBenchmarkScheduleStatus holds the conditions, the last runs, and what their medians show.
type StorageBenchmarkScheduleStatus struct {
	// observedGeneration is the generation of the spec that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions: Ready, Stalled, Suspended, Regressed (their reasons are in
	// docs/reference/conditions.md).
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// lastScheduleTime is the time of the schedule that the last benchmark was made for.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// lastMissedTime is the last time of the schedule that has no run, because the operator came later
	// than spec.startingDeadlineSeconds allows.
	// +optional
	LastMissedTime *metav1.Time `json:"lastMissedTime,omitempty"`

	// lastSkippedTime is the last time of the schedule at which an earlier run went on and
	// concurrencyPolicy is Forbid.
	// +optional
	LastSkippedTime *metav1.Time `json:"lastSkippedTime,omitempty"`

	// nextScheduleTime is when the next run starts, jitter included; absent while suspended.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`

	// missed is how many times of the schedule had no run because they were missed.
	// +optional
	Missed int64 `json:"missed,omitempty"`

	// succeeded is how many runs were complete.
	// +optional
	Succeeded int64 `json:"succeeded,omitempty"`

	// failed is how many runs failed.
	// +optional
	Failed int64 `json:"failed,omitempty"`

	// active are the benchmarks of the schedule that have not ended.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	Active []string `json:"active,omitempty"`

	// lastRun is the last run that has ended.
	// +optional
	LastRun *LastRun `json:"lastRun,omitempty"`

	// latestQualified is the baseline of the next run.
	// +optional
	LatestQualified *RunReference `json:"latestQualified,omitempty"`

	// runs are the last 50 that have ended, the oldest first. They outlive their benchmarks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Runs []ScheduledRun `json:"runs,omitempty"`

	// series has the medians of these runs, one for each row of the summary and metric, of at most 64.
	// A row's metrics are the rate of its first operation, and those of its gates.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Series []Series `json:"series,omitempty"`

	// seriesOmitted is how many series the status has no room for.
	// +optional
	SeriesOmitted int32 `json:"seriesOmitted,omitempty"`

	// changes of the medians, the worst first, of at most 32.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Changes []Change `json:"changes,omitempty"`

	// facts of the last run's configuration and environment that make numbers differ.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Facts map[string]string `json:"facts,omitempty"`
}

// RunReference names a run of a benchmark.
type RunReference struct {
	// benchmark that the run was of.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Benchmark string `json:"benchmark"`

	// run is its ID.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	Run string `json:"run"`

	// summaryDigest is the SHA-256 of its summary.json.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	SummaryDigest string `json:"summaryDigest,omitempty"`
}

// RunOutcome is how a run of a schedule ended.
// +kubebuilder:validation:Enum=Complete;Failed
type RunOutcome string

// Outcomes of runs.
const (
	RunComplete RunOutcome = "Complete"
	RunFailed   RunOutcome = "Failed"
)

// LastRun is the last run of a schedule that has ended.
type LastRun struct {
	// benchmark that was run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Benchmark string `json:"benchmark"`

	// outcome is Complete if every trial was measured, else Failed.
	// +required
	Outcome RunOutcome `json:"outcome"`

	// answer of the run, as its benchmark's status.answer.answer.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Answer string `json:"answer,omitempty"`

	// headline of the run, or why it failed.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Headline string `json:"headline,omitempty"`

	// baseline is what the comparison with the baseline shows: NoWorse, Regression or Inconclusive;
	// absent without spec.template.spec.baseline.
	// +optional
	Baseline BaselineOutcome `json:"baseline,omitempty"`

	// finishedAt is when it ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// ScheduledRun is a run of a schedule that has ended.
type ScheduledRun struct {
	// benchmark that was run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Benchmark string `json:"benchmark"`

	// scheduledAt is the time of the schedule that it was made for.
	// +required
	ScheduledAt metav1.Time `json:"scheduledAt"`

	// outcome is Complete if every trial was measured, else Failed.
	// +required
	Outcome RunOutcome `json:"outcome"`

	// baseline is what the comparison with the baseline shows.
	// +optional
	Baseline BaselineOutcome `json:"baseline,omitempty"`

	// invalid is how many rows had a verdict that invalidates their number. They are in no series.
	// +optional
	Invalid int32 `json:"invalid,omitempty"`

	// differences between the configuration and environment of this run and the last one before it that
	// has any.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=256
	Differences []string `json:"differences,omitempty"`
}

// SeriesKey identifies a series.
type SeriesKey struct {
	// target name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// workload name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	Workload string `json:"workload"`

	// node name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`

	// variant name, if the benchmark has variants.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Variant string `json:"variant,omitempty"`

	// part of the workload; absent: the whole.
	// +optional
	// +kubebuilder:validation:MaxLength=160
	Part string `json:"part,omitempty"`

	// metric, such as read.iops or sync.latency.p99 (seconds).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Metric string `json:"metric"`
}

// Series is one metric of one row, run by run.
type Series struct {
	SeriesKey `json:",inline"`

	// points are its medians, the oldest first.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Points []Point `json:"points"`
}

// Point is a median of one run.
type Point struct {
	// run is its benchmark, one of status.runs.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Run string `json:"run"`

	// median over the trials.
	// +required
	Median resource.Quantity `json:"median"`
}

// ChangeState is how sure a change is.
// +kubebuilder:validation:Enum=Suspected;Confirmed;Trend
type ChangeState string

// States of changes.
const (
	// ChangeSuspected: one run shows it.
	ChangeSuspected ChangeState = "Suspected"
	// ChangeConfirmed: two runs or more show it.
	ChangeConfirmed ChangeState = "Confirmed"
	// ChangeTrend: the medians drift rather than step, so that no run is the one that changed them.
	ChangeTrend ChangeState = "Trend"
)

// ChangeDirection is whether a change is for the better.
// +kubebuilder:validation:Enum=Better;Worse
type ChangeDirection string

// Directions of changes.
const (
	ChangeBetter ChangeDirection = "Better"
	ChangeWorse  ChangeDirection = "Worse"
)

// Change of the level of a series.
type Change struct {
	SeriesKey `json:",inline"`

	// state is Suspected while one run shows the change, Confirmed if two or more do, and Trend if the
	// medians drift rather than step.
	// +required
	State ChangeState `json:"state"`

	// direction is Worse or Better.
	// +required
	Direction ChangeDirection `json:"direction"`

	// since is the first benchmark with the new level, one of status.runs. It may move when later runs
	// show more.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Since string `json:"since"`

	// sinceTime is the time of the schedule that it was made for.
	// +required
	SinceTime metav1.Time `json:"sinceTime"`

	// from is the mean of the medians before.
	// +required
	From resource.Quantity `json:"from"`

	// to is the mean of the medians since.
	// +required
	To resource.Quantity `json:"to"`

	// percent of the change, such as -38.2%.
	// +required
	// +kubebuilder:validation:MaxLength=24
	Percent string `json:"percent"`

	// present reports that it is the last change of its series, and the last complete run has
	// measured that.
	// +optional
	Present bool `json:"present,omitempty"`

	// acknowledged reports that the annotation storagebench.io/acknowledge names since.
	// +optional
	Acknowledged bool `json:"acknowledged,omitempty"`

	// differences between the configuration and environment at that run and before it. They may be the
	// cause; nothing shows that they are.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=256
	Differences []string `json:"differences,omitempty"`
}
