package result

// Baseline is the comparison of a run with an earlier one.
type Baseline struct {
	// Run that it was compared with; empty: there is none.
	Run string `json:"run,omitempty"`
	// Outcome is NoWorse, Regression or Inconclusive.
	Outcome string `json:"outcome"`
	// MaxRegression is the worst acceptable change: 0.05 is 5 %.
	MaxRegression float64 `json:"maxRegression"`
	Sentence      string  `json:"sentence"`
	// Lost: spec.baseline.from names the run, and the store has no summary of it that can be read. The
	// run's answer is then Inconclusive.
	Lost bool `json:"lost,omitempty"`
	// Differences between the environments and configurations of the two runs.
	Differences []string `json:"differences,omitempty"`
}
