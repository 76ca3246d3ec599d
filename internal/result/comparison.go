package result

// Comparison is what a variant changed against the control, the benchmark's first
// variant: one workload, or a part of it, on one target and node. By target, it is what another
// target than the first measured on the same node; then Control is that first target.
type Comparison struct {
	// By is "target", or empty for variants.
	By       string `json:"by,omitempty"`
	Target   string `json:"target"`
	Workload string `json:"workload"`
	// Part of the workload; empty: the whole.
	Part    string `json:"part,omitempty"`
	Node    string `json:"node"`
	Variant string `json:"variant,omitempty"`
	Control string `json:"control"`
	// Primary is the metric that decides, and its outcome; absent if no metric does.
	Primary *Decision `json:"primary,omitempty"`
	// Metrics that both have, by name.
	Metrics map[string]Change `json:"metrics"`
	// Operations in the engine's order, or sorted by name.
	Operations []string `json:"operations,omitempty"`
}

// Decision is the outcome of a comparison by its primary metric.
type Decision struct {
	Metric string `json:"metric"`
	// Outcome is Better, Worse, NoDifference or Inconclusive.
	Outcome string `json:"outcome"`
	// Sentence says what was found, by how much, and what would decide.
	Sentence string `json:"sentence"`
	// MinEffect is the smallest difference that matters: 0.05 is 5 %.
	MinEffect float64 `json:"minEffect"`
	// P is the two-sided p value of no difference, of this metric alone.
	P float64 `json:"p"`
	// Units are the randomised blocks that count, or, in sequential order, the trials of an arm; or
	// the volumes, or rounds, on each of which both were measured.
	Units int `json:"units"`
	// MoreRepeats is about how many more repeats would decide with 80 % probability; 0: it is
	// decided, or more repeats would not.
	MoreRepeats int `json:"moreRepeats,omitempty"`
	// MoreVolumes is the same for volumes, or rounds.
	MoreVolumes int `json:"moreVolumes,omitempty"`
}

// Change of a metric from the control to a variant.
type Change struct {
	Unit string `json:"unit"`
	// Pairs is the number of repeats in which both measured the metric. The two trials
	// of a pair ran directly or almost directly one after the other.
	Pairs int `json:"pairs"`
	// Blocks is the number of randomised blocks that the intervals are made of: two repeats in
	// opposite order, or one of a random order.
	Blocks int `json:"blocks,omitempty"`
	// Bounds is how many of the pairs have a value that is only a lower bound. Then there is no
	// ratio, and no difference: either could be on any side.
	Bounds int `json:"bounds,omitempty"`
	// Control and Variant are the medians over the trials of the pairs.
	Control float64 `json:"control"`
	Variant float64 `json:"variant"`
	// Ratio of variant to control; absent if a value is 0.
	Ratio *Interval `json:"ratio,omitempty"`
	// Difference is variant minus control, in the metric's unit.
	Difference Interval `json:"difference"`
	// Order is the ratio of what a later trial of a repeat measured to what an earlier one
	// did, whatever their variants: 1 if it does not matter which runs first. It is a geometric mean
	// over blocks, with Student's t from 3 blocks on; absent if there is none.
	Order *Interval `json:"order,omitempty"`
}

// Interval is an estimate over blocks, Hodges and Lehmann's. Low and High are its 95 % interval, of
// signed ranks, absent below 6 blocks.
type Interval struct {
	Median float64  `json:"median"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
}
