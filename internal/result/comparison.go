package result

// Comparison is what a variant changed against the control, the benchmark's first
// variant: one workload, or a part of it, on one target and node.
type Comparison struct {
	Target   string `json:"target"`
	Workload string `json:"workload"`
	// Part of the workload; empty: the whole.
	Part    string `json:"part,omitempty"`
	Node    string `json:"node"`
	Variant string `json:"variant"`
	Control string `json:"control"`
	// Metrics that both have, by name.
	Metrics map[string]Change `json:"metrics"`
	// Operations in the engine's order, or sorted by name.
	Operations []string `json:"operations,omitempty"`
}

// Change of a metric from the control to a variant.
type Change struct {
	Unit string `json:"unit"`
	// Pairs is the number of repeats in which both measured the metric. The two trials
	// of a pair ran directly or almost directly one after the other.
	Pairs int `json:"pairs"`
	// Bounds is how many of the pairs have a value that is only a lower bound. Then there is no
	// ratio, and no difference: either could be on any side.
	Bounds int `json:"bounds,omitempty"`
	// Control and Variant are the medians over the trials of the pairs.
	Control float64 `json:"control"`
	Variant float64 `json:"variant"`
	// Ratio of variant to control; absent if a value of the control is 0.
	Ratio *Interval `json:"ratio,omitempty"`
	// Difference is variant minus control, in the metric's unit.
	Difference Interval `json:"difference"`
	// Order is the ratio of what a later trial of a repeat measured to what an earlier one
	// did, whatever their variants: 1 if it does not matter which runs first. It is a median
	// over blocks of two repeats of opposite order; absent if there is none.
	Order *Interval `json:"order,omitempty"`
}

// Interval is a median over pairs. Low and High are its distribution-free 95 %
// interval, absent below 6 pairs.
type Interval struct {
	Median float64  `json:"median"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
}
