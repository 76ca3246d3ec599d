package status

import (
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
)

// Rows reads a status's rows back as those of a summary, for package report.
func Rows(status v1alpha1.StorageBenchmarkStatus) []result.Row {
	var rows []result.Row
	for _, s := range status.Summary {
		row := result.Row{Target: s.Target, Workload: s.Workload, Variant: s.Variant, Node: s.Node, N: int(s.Trials), Metrics: map[string]result.Estimate{}}
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
		rows = append(rows, row)
	}
	return rows
}
