package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// DefaultMinEffect is the smallest difference that matters where a spec does not say.
const DefaultMinEffect = 0.05

// buildCompare returns what the spec compares; nil if it does not say, which is the same as variants
// by the defaults.
func buildCompare(spec v1alpha1.StorageBenchmarkSpec, p *trial.Plan) (*trial.Compare, error) {
	c := spec.Compare
	if c == nil {
		return nil, nil
	}
	out := &trial.Compare{By: string(cmp.Or(c.By, v1alpha1.CompareByVariant)), MinEffect: DefaultMinEffect}
	switch {
	case c.By == v1alpha1.CompareByTarget && len(spec.Targets) < 2:
		return nil, invalid("spec.compare.by", "it is target, but the benchmark has only one target", "add a target, or remove spec.compare")
	case c.By != v1alpha1.CompareByTarget && len(p.Variants) < 2:
		return nil, invalid("spec.compare.by", fmt.Sprintf("it is variant, but the benchmark has %s", suggest.Count(len(p.Variants), "variant")), "add variants, set by to target, or remove spec.compare")
	}
	if c.MinEffect != "" {
		effect, err := Percent(c.MinEffect)
		if err != nil || effect == 0 {
			return nil, invalid("spec.compare.minEffect", fmt.Sprintf("%q must be a percentage above 0%% and below 100%%", c.MinEffect), "for example 5%")
		}
		out.MinEffect = effect
	}
	if m := c.Primary; m != nil {
		if _, ok := result.Better(m.Metric); !ok {
			return nil, invalid("spec.compare.primary.metric", fmt.Sprintf("the name %q does not tell which way is better", m.Metric), "name a rate, a bandwidth or a time, for example read.iops or write.latency.p99")
		}
		var names []string
		for _, w := range p.Workloads {
			names = append(names, w.Name)
		}
		if m.Workload != "" && !slices.Contains(names, m.Workload) {
			return nil, invalid("spec.compare.primary.workload", fmt.Sprintf("there is no workload %q", m.Workload), "name one of "+strings.Join(names, ", "))
		}
		out.Workload, out.Metric = m.Workload, m.Metric
	}
	return out, nil
}

// DefaultMaxRegression is the worst acceptable change against a baseline where a spec does not say.
const DefaultMaxRegression = 0.05

// checkBaseline finds what is wrong with the baseline.
func checkBaseline(b *v1alpha1.Baseline) error {
	if b == nil || b.MaxRegression == "" {
		return nil
	}
	if _, err := Percent(b.MaxRegression); err != nil {
		return invalid("spec.baseline.maxRegression", fmt.Sprintf("%q must be a percentage from 0%% to below 100%%", b.MaxRegression), "for example 5%")
	}
	return nil
}

// Percent parses 5% as 0.05. It refuses a bare 5, which could mean either.
func Percent(text string) (float64, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(v >= 0 && v < 100) {
		return 0, fmt.Errorf("must be a percentage from 0%% to below 100%%, for example 5%%")
	}
	return v / 100, nil
}
