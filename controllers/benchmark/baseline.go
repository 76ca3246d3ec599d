package benchmark

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	out := &results.Baseline{Run: spec.From, Benchmark: spec.Benchmark, Digest: spec.SummaryDigest, MaxRegression: plan.DefaultMaxRegression}
	if cmp.Or(spec.From, v1alpha1.LatestQualified) == v1alpha1.LatestQualified {
		out.Run = b.Status.LatestQualified
	} else {
		out.Named = !chosenBySchedule(b)
	}
	if out.Benchmark == "" && out.Digest == "" && out.Run == b.Status.LatestQualified {
		out.Digest = b.Status.LatestQualifiedDigest
	}
	if limit, err := plan.Percent(spec.MaxRegression); err == nil { // or else it is empty: the plan was checked
		out.MaxRegression = limit
	}
	return out
}

// chosenBySchedule reports whether a schedule put the latest of its qualified runs into spec.baseline, where its
// template names none. If that one is lost, the next that is measured must be able to take its place: or
// no run of the schedule would ever qualify again.
func chosenBySchedule(b *v1alpha1.StorageBenchmark) bool {
	owner := metav1.GetControllerOf(b)
	return owner != nil && owner.Kind == "StorageBenchmarkSchedule" && strings.HasPrefix(b.Spec.Baseline.Benchmark, owner.Name+"-")
}

// baselinesOf returns the runs of a benchmark that a later one may be compared with: the last one, the
// latest that qualified, and the one that the spec names. The operator's own store keeps their
// summaries, and no others.
func baselinesOf(b *v1alpha1.StorageBenchmark) []string {
	var runs []string
	if b.Status.Run != nil {
		runs = append(runs, b.Status.Run.ID)
	}
	if b.Status.LatestQualified != "" {
		runs = append(runs, b.Status.LatestQualified)
	}
	if spec := b.Spec.Baseline; spec != nil && spec.From != "" && spec.From != v1alpha1.LatestQualified {
		runs = append(runs, spec.From)
	}
	return runs
}
