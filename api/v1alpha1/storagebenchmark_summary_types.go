package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SummaryRow is what one workload, or a part of it, measured with one variant on one target and node.
type SummaryRow struct {
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

	// part of the workload, such as a job of a fio job file; absent: the whole.
	// +optional
	// +kubebuilder:validation:MaxLength=160
	Part string `json:"part,omitempty"`

	// trials is the number of trials that were measured (n).
	// +required
	Trials int32 `json:"trials"`

	// volumes, or rounds, that the trials are from; absent: one.
	// +optional
	Volumes int32 `json:"volumes,omitempty"`

	// speaksFor says what the intervals are about, such as this volume, or volumes of a class.
	// +optional
	// +kubebuilder:validation:MaxLength=600
	SpeaksFor string `json:"speaksFor,omitempty"`

	// operations that the workload did, the one that it is for first: read, write and
	// trim of fio, transactions of postmark, filesync.
	// +optional
	// +listType=map
	// +listMapKey=operation
	// +kubebuilder:validation:MaxItems=16
	Operations []OperationSummary `json:"operations,omitempty"`

	// trialDuration is how long a trial measured, at the median, if that was less than a second: then start,
	// end and caches weigh more than the storage. Raise size, or set runtime.
	// +optional
	TrialDuration *metav1.Duration `json:"trialDuration,omitempty"`

	// verdicts are what the numbers are worth, those that invalidate first; summary.json has
	// all of them, with their evidence.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Verdicts []VerdictSummary `json:"verdicts,omitempty"`
}

// VerdictSummary is a verdict on a row.
type VerdictSummary struct {
	// name of the verdict, such as FromMemory.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`

	// effect is Invalidates if the number says nothing about the storage that was to be
	// measured, or Qualifies if it does with a reservation.
	// +required
	// +kubebuilder:validation:Enum=Invalidates;Qualifies
	Effect string `json:"effect"`

	// operations that it is about; empty: all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	Operations []string `json:"operations,omitempty"`

	// trials that have the verdict.
	// +required
	Trials int32 `json:"trials"`

	// message says what was found.
	// +optional
	// +kubebuilder:validation:MaxLength=320
	Message string `json:"message,omitempty"`
}

// OperationSummary is one operation of a row. Medians are over trials; an
// interval is the distribution-free 95 % interval of the median, and is absent
// below 6 trials.
type OperationSummary struct {
	// operation is read, write, trim, or what the engine calls it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Operation string `json:"operation"`

	// iops in I/Os per second.
	// +optional
	IOPS *Estimate `json:"iops,omitempty"`

	// rate in operations per second, of operations that are more than one I/O.
	// +optional
	Rate *Estimate `json:"rate,omitempty"`

	// bandwidth in bytes per second.
	// +optional
	Bandwidth *Estimate `json:"bandwidth,omitempty"`

	// latency of completions, from the histograms of all trials merged.
	// +optional
	Latency *LatencySummary `json:"latency,omitempty"`
}

// Estimate is a median over trials with its interval.
type Estimate struct {
	// median over the trials.
	// +required
	Median resource.Quantity `json:"median"`
	// low end of the 95 % interval of the median.
	// +optional
	Low *resource.Quantity `json:"low,omitempty"`
	// high end of the 95 % interval of the median.
	// +optional
	High *resource.Quantity `json:"high,omitempty"`
	// bounds is how many trials were too fast to be measured and only give a lower bound.
	// +optional
	Bounds int32 `json:"bounds,omitempty"`
	// atLeast reports that the median is a lower bound for that reason.
	// +optional
	AtLeast bool `json:"atLeast,omitempty"`
}

// LatencySummary holds percentiles of one merged histogram (0.8 % resolution).
type LatencySummary struct {
	// p50 is the median latency of an operation.
	// +required
	P50 metav1.Duration `json:"p50"`
	// p99 is the 99th percentile.
	// +required
	P99 metav1.Duration `json:"p99"`
	// p999 is the 99.9th percentile.
	// +required
	P999 metav1.Duration `json:"p999"`
}
