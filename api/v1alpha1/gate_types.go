package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Gate is a limit for a metric. It is decided on the bound of the median's 95 % interval, not on
// the median: it is met if the whole interval is within the limit, and missed if all of it is beyond.
//
// +kubebuilder:validation:XValidation:rule="has(self.max) != has(self.min)",message="a gate needs exactly one of max and min"
type Gate struct {
	// workload whose metric it is; a point of a sweep is one: oltp@iodepth-8.
	// +required
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(@[a-z0-9_-]+)?$`
	Workload string `json:"workload"`

	// target that the gate is for. Default: every target.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target,omitempty"`

	// variant that the gate is for. Default: every variant.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Variant string `json:"variant,omitempty"`

	// part of the workload, such as a job of a fio job file. Default: the whole or, if that has
	// no such metric, every part that does.
	// +optional
	// +kubebuilder:validation:MaxLength=160
	Part string `json:"part,omitempty"`

	// metric, as in docs/reference/results.md: sync.latency.p99, write.iops, read.bandwidth. A
	// percentile of latency is the median of the trials' own percentiles.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]+(\.[A-Za-z0-9]+)+$`
	Metric string `json:"metric"`

	// max is the highest value that is good enough: a time such as 10ms, bytes or bytes per second
	// such as 100MiB, or a number such as 5000.
	// +optional
	Max *Scalar `json:"max,omitempty"`

	// min is the lowest value that is good enough, written like max.
	// +optional
	Min *Scalar `json:"min,omitempty"`
}

// GateStatus is a gate on one row of the summary.
type GateStatus struct {
	// target name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// node name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`

	// workload name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	Workload string `json:"workload"`

	// variant name, if the benchmark has variants.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Variant string `json:"variant,omitempty"`

	// part of the workload; absent: the whole.
	// +optional
	// +kubebuilder:validation:MaxLength=160
	Part string `json:"part,omitempty"`

	// metric name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Metric string `json:"metric"`

	// limit as in the spec, for people: at most 10ms.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=288
	Limit string `json:"limit"`

	// value is the median over trials, in SI base units: 8200u is 8.2 ms. Absent if nothing was
	// measured.
	// +optional
	Value *resource.Quantity `json:"value,omitempty"`
	// low end of the interval that decides.
	// +optional
	Low *resource.Quantity `json:"low,omitempty"`
	// high end of the interval that decides.
	// +optional
	High *resource.Quantity `json:"high,omitempty"`

	// outcome is Met, Missed, or Inconclusive.
	// +required
	// +kubebuilder:validation:Enum=Met;Missed;Inconclusive
	Outcome string `json:"outcome"`

	// invalidatedBy are the verdicts that make the value worthless, so that the gate is not met.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=64
	InvalidatedBy []string `json:"invalidatedBy,omitempty"`

	// moreTrials is about how many more trials would decide with 80 % probability.
	// +optional
	MoreTrials int32 `json:"moreTrials,omitempty"`

	// message says it in a sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// AnswerStatus is what a run answers.
type AnswerStatus struct {
	// answer in one word. Qualified: every gate is met. NotQualified: one is missed. Better, Worse,
	// NoDifference: what a comparison shows. Inconclusive: more trials are needed, not all was
	// measured, or the run that spec.baseline.from names is lost. Invalid: a verdict makes the number
	// worthless. Regression: no gate is missed, but the run is worse than its baseline. Measured: there was
	// no question.
	// +required
	// +kubebuilder:validation:Enum=Qualified;NotQualified;Better;Worse;NoDifference;Inconclusive;Invalid;Regression;Measured
	Answer string `json:"answer"`

	// sentence says why, with the number.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Sentence string `json:"sentence,omitempty"`

	// speaksFor says what was replicated, and so what the answer is about.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	SpeaksFor string `json:"speaksFor,omitempty"`
}
