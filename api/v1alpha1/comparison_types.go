package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// ComparisonRow is what a variant changed against the control, the first variant: one
// workload, or a part of it, on one target and node.
type ComparisonRow struct {
	// target name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// workload name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
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

	// variant that is compared with the control.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Variant string `json:"variant"`

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

	// control is the median over the pairs' trials with the control.
	// +required
	Control resource.Quantity `json:"control"`

	// variant is the median over the pairs' trials with the variant.
	// +required
	Variant resource.Quantity `json:"variant"`

	// ratio of the variant to the control: the median over the pairs, with its 95 %
	// interval from 6 pairs on. Absent if a control's value is 0.
	// +optional
	Ratio *Estimate `json:"ratio,omitempty"`
}
