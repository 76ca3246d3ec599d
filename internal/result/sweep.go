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
	// Knee is the answer of a search, whose points are the rates that were probed.
	Knee *Knee `json:"knee,omitempty"`
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
	// Over reports that a probe of this rate did not keep the promise, although nothing disturbed it.
	Over bool `json:"over,omitempty"`
	// Tied reports that it cannot be told from the best.
	Tied bool `json:"tied,omitempty"`
}

// Knee is the highest rate that keeps a promise.
type Knee struct {
	// Outcome is Found, BelowRange, AboveRange, Unfinished or Disturbed.
	Outcome string `json:"outcome"`
	// Metric that was limited, and the limit in seconds.
	Metric string  `json:"metric"`
	Limit  float64 `json:"limit"`
	// Lower is the highest rate that kept the promise, and Upper the lowest that did not; 0: none.
	Lower int64 `json:"lower,omitempty"`
	Upper int64 `json:"upper,omitempty"`
	// Probes that were made, and how many of them did not count as something disturbed them.
	Probes    int `json:"probes"`
	Disturbed int `json:"disturbed,omitempty"`
}
