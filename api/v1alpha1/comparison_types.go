package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// ComparisonOutcome is what a comparison shows by its primary metric.
// +kubebuilder:validation:Enum=Better;Worse;NoDifference;Inconclusive
type ComparisonOutcome string

// ComparisonRow is what a variant changed against the control, the first variant, or a
// target against the first target: one workload, or a part of it, on one target and node.
type ComparisonRow struct {
	// by is what was compared; absent: variants.
	// +optional
	By CompareBy `json:"by,omitempty"`

	// outcome of the comparison by its primary metric: Better or Worse than the control; NoDifference if
	// the difference is shown to be smaller than what matters; else Inconclusive. It is corrected
	// for the number of comparisons (Holm). Absent if no metric decides.
	// +optional
	Outcome ComparisonOutcome `json:"outcome,omitempty"`

	// primary is the metric that decides.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Primary string `json:"primary,omitempty"`

	// message says what was found, by how much, and what would decide.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// moreRepeats is about how many more repeats would decide with 80 % probability.
	// +optional
	MoreRepeats int32 `json:"moreRepeats,omitempty"`

	// control that the row is compared with: a variant, or by target a target.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Control string `json:"control,omitempty"`

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

	// part of the workload, such as a job of a fio job file; absent: the whole.
	// +optional
	// +kubebuilder:validation:MaxLength=160
	Part string `json:"part,omitempty"`

	// node name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`

	// variant that is compared with the control; by target, the variant of both, if there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Variant string `json:"variant,omitempty"`

	// changes of metrics, the most telling first: rates, p99 of latencies, durations,
	// and the flushes that reached the disks.
	// +optional
	// +listType=map
	// +listMapKey=metric
	// +kubebuilder:validation:MaxItems=16
	Changes []MetricChange `json:"changes,omitempty"`
}

// MetricChange is a metric with the control and with a variant. Values are in SI base
// units: a latency of 250u is 250 µs.
type MetricChange struct {
	// metric name, as in the result documents: write.latency.p99.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Metric string `json:"metric"`

	// pairs is the number of repeats in which both have measured it, one after the other.
	// +required
	Pairs int32 `json:"pairs"`

	// blocks is the number of randomised blocks that the ratio's interval is made of.
	// +optional
	Blocks int32 `json:"blocks,omitempty"`

	// control is the median over the pairs' trials with the control.
	// +required
	Control resource.Quantity `json:"control"`

	// variant is the median over the pairs' trials with the variant.
	// +required
	Variant resource.Quantity `json:"variant"`

	// ratio of the variant to the control: Hodges and Lehmann's estimate over the blocks, with its
	// 95 % interval from 6 blocks on. Absent if a value is 0.
	// +optional
	Ratio *Estimate `json:"ratio,omitempty"`
}
