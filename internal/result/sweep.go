package result

// Sweep is what a workload measured at the points of its sweep, on one target and node.
type Sweep struct {
	Target string `json:"target"`
	Node   string `json:"node"`
	// Workload of the spec, and the variant that all points were measured with, if it has variants.
	Workload string `json:"workload"`
	Variant  string `json:"variant,omitempty"`
	// Parameters that differ from point to point.
	Parameters []string `json:"parameters"`
	// Metric that the points are compared by, and Latency, the one that is shown beside it; empty:
	// there is none.
	Metric  string `json:"metric,omitempty"`
	Unit    string `json:"unit,omitempty"`
	Latency string `json:"latency,omitempty"`
	// Points in the order of the spec. One of which nothing was measured has no estimate.
	Points []SweepPoint `json:"points"`
	// Best is the index of the point with the best median whose number stands; absent if there is none.
	Best *int `json:"best,omitempty"`
	// Sentence says which is best, and which cannot be told from it.
	Sentence string `json:"sentence"`
}

// SweepPoint is one point of a sweep.
type SweepPoint struct {
	// Workload and Variant of its row.
	Workload string `json:"workload"`
	Variant  string `json:"variant,omitempty"`
	// Values of the sweep's parameters.
	Values []string `json:"values"`
	// N is the number of measured trials.
	N int `json:"n"`
	// Estimate of the sweep's metric, and Latency of the one that is shown beside it.
	Estimate *Interval `json:"estimate,omitempty"`
	Latency  *Interval `json:"latency,omitempty"`
	// InvalidatedBy are the verdicts for which the number does not count.
	InvalidatedBy []string `json:"invalidatedBy,omitempty"`
	// Tied reports that it cannot be told from the best.
	Tied bool `json:"tied,omitempty"`
}
