package plan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

func TestWhatIsComparedIsCheckedAgainstTheSpec(t *testing.T) {
	spec := func(targets, variants int, c v1alpha1.Compare) v1alpha1.StorageBenchmarkSpec {
		return v1alpha1.StorageBenchmarkSpec{
			Targets: make([]v1alpha1.Target, targets), Variants: make([]v1alpha1.Variant, variants),
			Workloads: []v1alpha1.Workload{{Name: "oltp"}, {Name: "log"}}, Compare: &c,
		}
	}
	metric := func(workload, name string) *v1alpha1.PrimaryMetric {
		return &v1alpha1.PrimaryMetric{Workload: workload, Metric: name}
	}
	for name, c := range map[string]struct {
		spec  v1alpha1.StorageBenchmarkSpec
		want  *trial.Compare
		field string
	}{
		"the defaults":             {spec: spec(1, 2, v1alpha1.Compare{}), want: &trial.Compare{By: "variant", MinEffect: 0.05}},
		"all of it":                {spec: spec(2, 0, v1alpha1.Compare{By: "target", MinEffect: "2.5%", Primary: metric("log", "sync.latency.p99")}), want: &trial.Compare{By: "target", Workload: "log", Metric: "sync.latency.p99", MinEffect: 0.025}},
		"one target":               {spec: spec(1, 2, v1alpha1.Compare{By: "target"}), field: "spec.compare.by"},
		"one variant":              {spec: spec(2, 1, v1alpha1.Compare{}), field: "spec.compare.by"},
		"nothing matters":          {spec: spec(1, 2, v1alpha1.Compare{MinEffect: "0%"}), field: "spec.compare.minEffect"},
		"a number without percent": {spec: spec(1, 2, v1alpha1.Compare{MinEffect: "5"}), field: "spec.compare.minEffect"},
		"a count":                  {spec: spec(1, 2, v1alpha1.Compare{Primary: metric("", "read.ios")}), field: "spec.compare.primary.metric"},
		"a workload that is not":   {spec: spec(1, 2, v1alpha1.Compare{Primary: metric("oltpp", "read.iops")}), field: "spec.compare.primary.workload"},
	} {
		got, err := buildCompare(c.spec, planNames(c.spec))
		failure, _ := errors.AsType[*trial.Failure](err)
		if (failure == nil) != (c.field == "") || failure != nil && (failure.Field != c.field || failure.Remedy == "") {
			t.Errorf("%s: %v, want a failure of %q", name, err, c.field)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got, err := buildCompare(v1alpha1.StorageBenchmarkSpec{}, &trial.Plan{}); got != nil || err != nil {
		t.Errorf("without spec.compare: %+v, %v", got, err)
	}
}

func TestABaselineIsAPercentage(t *testing.T) {
	for text, ok := range map[string]bool{"": true, "5%": true, "0%": true, "5": false, "x%": false} {
		err := checkBaseline(&v1alpha1.Baseline{MaxRegression: text})
		failure, _ := errors.AsType[*trial.Failure](err)
		if (failure == nil) != ok || failure != nil && (failure.Field != "spec.baseline.maxRegression" || failure.Remedy == "") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := checkBaseline(nil); err != nil {
		t.Error(err)
	}
}

// planNames is as much of a plan as a comparison needs.
func planNames(spec v1alpha1.StorageBenchmarkSpec) *trial.Plan {
	p := &trial.Plan{}
	for _, w := range spec.Workloads {
		p.Workloads = append(p.Workloads, trial.Workload{Name: w.Name})
	}
	for _, v := range spec.Variants {
		p.Variants = append(p.Variants, trial.Variant{Name: v.Name})
	}
	return p
}
