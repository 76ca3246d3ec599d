package benchmark

import (
	"cmp"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/results"
	"storagebench.io/storagebench/internal/plan"
)

// baselineOf returns the run that a benchmark's run is compared with; nil: none is asked for.
func baselineOf(b *v1alpha1.StorageBenchmark) *results.Baseline {
	spec := b.Spec.Baseline
	if spec == nil {
		return nil
	}
	out := &results.Baseline{Run: spec.From, Benchmark: spec.Benchmark, MaxRegression: plan.DefaultMaxRegression}
	if cmp.Or(spec.From, v1alpha1.LatestQualified) == v1alpha1.LatestQualified {
		out.Run = b.Status.LatestQualified
	}
	if limit, err := plan.Percent(spec.MaxRegression); err == nil { // or else it is empty: the plan was checked
		out.MaxRegression = limit
	}
	return out
}
