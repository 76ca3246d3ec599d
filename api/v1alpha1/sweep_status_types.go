package v1alpha1

// SweepStatus is what a workload measured at the points of its sweep, on one target and node.
type SweepStatus struct {
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

	// workload of the spec.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Workload string `json:"workload"`

	// variant that all points were measured with, if the benchmark has variants.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Variant string `json:"variant,omitempty"`

	// parameters that differ from point to point.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=100
	Parameters []string `json:"parameters,omitempty"`

	// metric that the points are compared by.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Metric string `json:"metric,omitempty"`

	// message says which setting is best, and which cannot be told from it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// knee is the highest rate that keeps the promise of the sweep's slo.
	// +optional
	Knee *KneeStatus `json:"knee,omitempty"`

	// points of the curve.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Points []SweepPointStatus `json:"points,omitempty"`
}

// SweepPointStatus is one point of a sweep.
type SweepPointStatus struct {
	// workload of the point's row, such as oltp@iodepth-8.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	Workload string `json:"workload"`

	// variant of the point's row.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Variant string `json:"variant,omitempty"`

	// values of the parameters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=64
	Values []string `json:"values,omitempty"`

	// trials is the number of trials that were measured (n).
	// +required
	Trials int32 `json:"trials"`

	// value of the metric; absent if nothing was measured.
	// +optional
	Value *Estimate `json:"value,omitempty"`

	// latency is the p99 of the same operation, in seconds.
	// +optional
	Latency *Estimate `json:"latency,omitempty"`

	// note is Best, Tied if it cannot be told from the best, Worse, or Invalid if a verdict
	// invalidates the number; absent if nothing was measured.
	// +optional
	// +kubebuilder:validation:Enum=Best;Tied;Worse;Invalid
	Note string `json:"note,omitempty"`
}

// KneeStatus is the answer of a search.
type KneeStatus struct {
	// outcome is Found, BelowRange or AboveRange if the answer is only a bound, or Unfinished or
	// Disturbed if the search ended without one.
	// +required
	// +kubebuilder:validation:Enum=Found;BelowRange;AboveRange;Unfinished;Disturbed
	Outcome string `json:"outcome"`

	// lower is the highest rate, in operations per second, that kept the promise.
	// +optional
	Lower int64 `json:"lower,omitempty"`

	// upper is the lowest rate that did not.
	// +optional
	Upper int64 `json:"upper,omitempty"`
}
