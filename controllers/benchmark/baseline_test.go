package benchmark

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
)

func TestABaselineIsNamedByAPersonOrChosen(t *testing.T) {
	schedule := []metav1.OwnerReference{{Kind: "StorageBenchmarkSchedule", Name: "nightly", Controller: new(true)}}
	for name, c := range map[string]struct {
		owners []metav1.OwnerReference
		spec   v1alpha1.Baseline
		run    string
		named  bool
	}{
		"the latest, by default":            {nil, v1alpha1.Baseline{}, "g2", false},
		"the latest":                        {nil, v1alpha1.Baseline{From: v1alpha1.LatestQualified}, "g2", false},
		"a run":                             {nil, v1alpha1.Baseline{From: "g1"}, "g1", true},
		"a run of another benchmark":        {nil, v1alpha1.Baseline{From: "g1", Benchmark: "nightly-1"}, "g1", true},
		"the latest of a schedule":          {schedule, v1alpha1.Baseline{From: "g1", Benchmark: "nightly-1"}, "g1", false},
		"a run that a schedule's spec has":  {schedule, v1alpha1.Baseline{From: "g1", Benchmark: "golden"}, "g1", true},
		"a schedule's run of its own name":  {schedule, v1alpha1.Baseline{From: "g1"}, "g1", true},
		"the first of a schedule, no other": {schedule, v1alpha1.Baseline{}, "g2", false},
	} {
		b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{OwnerReferences: c.owners}}
		b.Spec.Baseline, b.Status.LatestQualified = &c.spec, "g2"
		if got := baselineOf(b); got.Run != c.run || got.Named != c.named {
			t.Errorf("%s: run %s, named %v; want %s, %v", name, got.Run, got.Named, c.run, c.named)
		}
	}
}
