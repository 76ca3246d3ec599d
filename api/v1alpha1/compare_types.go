package v1alpha1

// CompareBy says what is compared with each other.
// +kubebuilder:validation:Enum=variant;target
type CompareBy string

// What can be compared.
const (
	// CompareByVariant compares each variant with the first.
	CompareByVariant CompareBy = "variant"
	// CompareByTarget compares each target with the first, on the same node.
	CompareByTarget CompareBy = "target"
)

// Compare says what is compared with each other, which number decides, and what difference
// matters. Fix it before the first trial: what is chosen afterwards can always be found.
type Compare struct {
	// by variant: each variant with the first, the control. by target: each target with the
	// first, on the same node. Default: variant.
	// +optional
	By CompareBy `json:"by,omitempty"`

	// primary is the metric that decides each comparison. Default: of each workload, the rate (or
	// else the bandwidth) of its first operation. All other metrics are shown with
	// intervals, and decide nothing: of many, some differ by chance.
	// +optional
	Primary *PrimaryMetric `json:"primary,omitempty"`

	// minEffect is the smallest difference that matters, as a percentage. A comparison is Better or
	// Worse if its interval excludes no difference and the difference is at least this, and
	// NoDifference if the interval shows a smaller one (than 3 %, if minEffect is less). Default: 5%.
	// +optional
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^[0-9]{1,2}(\.[0-9]{1,2})?%$`
	MinEffect string `json:"minEffect,omitempty"`
}

// PrimaryMetric names a metric.
type PrimaryMetric struct {
	// workload whose comparisons are decided. Default: every workload that has the metric.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	Workload string `json:"workload,omitempty"`

	// metric that decides, such as write.latency.p99. Its name must tell which way is better: a
	// rate, a bandwidth, or a time.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-z][A-Za-z0-9._-]*$`
	Metric string `json:"metric"`
}
