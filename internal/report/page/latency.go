package page

import (
	"fmt"
	"slices"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// percentileAxis are the points at which latencies are drawn, as 1/(1-p): 1.25 is p20, 10 is p90,
// 10,000 is p99.99. Steps of a tenth of a decade or so, with the percentiles of the tables in it.
var percentileAxis = []float64{
	1.25, 1.5, 2, 2.5, 3.2, 4, 5, 6.3, 8, 10, 12.5, 16, 20, 25, 32, 40, 50, 63, 80, 100, 125, 160, 200, 250, 320, 400, 500, 630, 800,
	1000, 1250, 1600, 2000, 2500, 3200, 4000, 5000, 6300, 8000, 10000,
}

// named are the points of the axis that are metrics too.
var named = []struct {
	x    float64
	name string
}{{2, "p50"}, {20, "p95"}, {100, "p99"}, {1000, "p99.9"}, {10000, "p99.99"}}

// latencyCharts returns a chart for each operation of each workload and part, with a line for
// each row that has latencies, from the merged histograms of its trials.
func latencyCharts(places []place) []Chart {
	type key struct{ workload, part, op string }
	var order []key
	groups := map[key][]place{}
	for _, p := range places {
		for _, op := range latencyOperations(p.row) {
			k := key{p.row.Workload, p.row.Part, op}
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], p)
		}
	}
	var out []Chart
	for _, k := range order {
		c := Chart{
			Kind: Percentiles, Title: report.WithPart(k.workload, k.part) + ": " + k.op,
			XUnit: "percentile", XName: "percentile", X: percentileAxis,
		}
		for _, p := range groups[k] {
			y := p.latencies(k.op)
			if y == nil {
				continue
			}
			if len(c.Lines) == maxLines {
				c.Note = fmt.Sprintf("The first %d of %d rows.", maxLines, len(groups[k]))
				break
			}
			c.Lines = append(c.Lines, Line{Name: p.name(), Unit: result.Seconds, Y: y})
		}
		if len(c.Lines) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// latencyOperations are those of a row with latencies, the engine's first.
func latencyOperations(r result.Row) []string {
	ops := slices.Clone(report.Operations(r))
	for _, op := range []string{"sync"} {
		if _, ok := r.Metrics[op+".latency.p50"]; ok && !slices.Contains(ops, op) {
			ops = append(ops, op)
		}
	}
	return ops
}

// latencies at the points of the axis, in seconds. A percentile that no I/O is beyond is left
// out: the highest of 1,000 I/Os says nothing about p99.99.
func (p place) latencies(op string) []*float64 {
	y := make([]*float64, len(percentileAxis))
	if h := p.row.Histograms[op]; h != nil && h.Count() > 0 {
		for i, x := range percentileAxis {
			if enough(h, x) {
				v := float64(h.Percentile(100*(1-1/x))) / 1e9
				y[i] = &v
			}
		}
	}
	found := false
	for _, n := range named {
		i := slices.Index(percentileAxis, n.x)
		e, ok := p.row.Metrics[op+".latency."+n.name]
		if !ok {
			continue
		}
		// The table's own number, so that the two never differ in the last digit.
		switch {
		case e.Pooled != nil && (y[i] != nil || p.row.Histograms[op] == nil):
			y[i] = e.Pooled
		case e.Pooled == nil && y[i] == nil && p.row.Histograms[op] == nil:
			v := e.Median
			y[i] = &v
		}
	}
	for _, v := range y {
		found = found || v != nil
	}
	if !found {
		return nil
	}
	return y
}

func enough(h *histogram.Histogram, x float64) bool { return float64(h.Count()) >= x }
