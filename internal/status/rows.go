package status

import (
	"cmp"
	"slices"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
)

// Rows converts a status's rows to those of a summary, for package report.
func Rows(status v1alpha1.StorageBenchmarkStatus) []result.Row {
	var rows []result.Row
	for _, s := range status.Summary {
		row := result.Row{Target: s.Target, Workload: s.Workload, Variant: s.Variant, Part: s.Part, Node: s.Node, N: int(s.Trials), Volumes: int(s.Volumes), SpeaksFor: s.SpeaksFor, Metrics: map[string]result.Estimate{}}
		if s.TrialDuration != nil {
			row.TrialSeconds = s.TrialDuration.Seconds()
		}
		for _, op := range s.Operations {
			row.Operations = append(row.Operations, op.Operation)
			put := func(name, unit string, e *v1alpha1.Estimate) {
				if e == nil {
					return
				}
				m := result.Estimate{Unit: unit, N: row.N, Median: e.Median.AsApproximateFloat64()}
				if e.Low != nil && e.High != nil {
					low, high := e.Low.AsApproximateFloat64(), e.High.AsApproximateFloat64()
					m.Low, m.High = &low, &high
				}
				row.Metrics[op.Operation+"."+name] = m
			}
			put("iops", result.PerSecond, op.IOPS)
			put("rate", result.PerSecond, op.Rate)
			put("bandwidth", result.BytesPerSecond, op.Bandwidth)
			if op.Latency != nil {
				for name, d := range map[string]float64{
					"p50": op.Latency.P50.Seconds(), "p99": op.Latency.P99.Seconds(), "p99.9": op.Latency.P999.Seconds(),
				} {
					row.Metrics[op.Operation+".latency."+name] = result.Estimate{Unit: result.Seconds, N: row.N, Median: d, Pooled: &d}
				}
			}
		}
		for _, v := range s.Verdicts {
			verdict := result.Verdict{Name: v.Name, Effect: result.Effect(v.Effect), Sentence: v.Message}
			if len(v.Operations) == 0 {
				row.Verdicts = append(row.Verdicts, result.RowVerdict{Verdict: verdict, Trials: int(v.Trials)})
			}
			for _, op := range v.Operations {
				verdict.Operation = op
				row.Verdicts = append(row.Verdicts, result.RowVerdict{Verdict: verdict, Trials: int(v.Trials)})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// Comparisons converts a status's comparisons to those of a summary, for package report.
func Comparisons(status v1alpha1.StorageBenchmarkStatus) []result.Comparison {
	var all []result.Comparison
	for _, row := range status.Comparisons {
		c := result.Comparison{
			By: string(row.By), Target: row.Target, Workload: row.Workload, Part: row.Part, Node: row.Node, Variant: row.Variant,
			Control: cmp.Or(row.Control, control(status, row)), Metrics: map[string]result.Change{},
		}
		if row.Outcome != "" {
			c.Primary = &result.Decision{Metric: row.Primary, Outcome: string(row.Outcome), Sentence: row.Message, MoreRepeats: int(row.MoreRepeats)}
		}
		for _, m := range row.Changes {
			change := result.Change{Unit: result.UnitOf(m.Metric), Pairs: int(m.Pairs), Blocks: int(m.Blocks), Control: m.Control.AsApproximateFloat64(), Variant: m.Variant.AsApproximateFloat64()}
			if m.Ratio != nil {
				change.Ratio = &result.Interval{Median: m.Ratio.Median.AsApproximateFloat64()}
				if m.Ratio.Low != nil && m.Ratio.High != nil {
					low, high := m.Ratio.Low.AsApproximateFloat64(), m.Ratio.High.AsApproximateFloat64()
					change.Ratio.Low, change.Ratio.High = &low, &high
				}
			}
			c.Metrics[m.Metric] = change
		}
		all = append(all, c)
	}
	return all
}

// control returns the variant that a comparison's variant is compared with: the one that is
// itself compared with none. A status of an older release does not name it.
func control(status v1alpha1.StorageBenchmarkStatus, c v1alpha1.ComparisonRow) string {
	same := func(target, workload, node string) bool {
		return target == c.Target && workload == c.Workload && node == c.Node
	}
	for _, row := range status.Summary {
		compared := slices.ContainsFunc(status.Comparisons, func(o v1alpha1.ComparisonRow) bool {
			return same(o.Target, o.Workload, o.Node) && o.Variant == row.Variant
		})
		if same(row.Target, row.Workload, row.Node) && !compared {
			return row.Variant
		}
	}
	return ""
}
