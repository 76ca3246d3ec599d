package page

import (
	"cmp"
	"slices"
	"strconv"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// Swept is the answer of a sweep.
type Swept struct{ Where, Sentence string }

func swept(s result.Summary) []Swept {
	var out []Swept
	for _, sweep := range s.Sweeps[:min(len(s.Sweeps), maxCharts)] {
		out = append(out, Swept{report.SweepPlace(sweep), sweep.Sentence})
	}
	return out
}

// sweepCharts returns the curve of each sweep over one parameter whose values are numbers.
func sweepCharts(s result.Summary) []Chart {
	var out []Chart
	for _, sweep := range s.Sweeps {
		type at struct {
			x float64
			e *result.Interval
		}
		var points []at
		for _, p := range sweep.Points {
			if len(p.Values) != 1 || p.Estimate == nil {
				continue
			}
			if x, err := strconv.ParseFloat(p.Values[0], 64); err == nil {
				points = append(points, at{x, p.Estimate})
			}
		}
		if len(points) < 2 || len(sweep.Parameters) != 1 {
			continue
		}
		slices.SortFunc(points, func(a, b at) int { return cmp.Compare(a.x, b.x) })
		c := Chart{Kind: Curve, Title: report.SweepPlace(sweep) + ": " + report.MetricName(sweep.Metric), XName: sweep.Parameters[0]}
		l := Line{Name: report.MetricName(sweep.Metric), Unit: sweep.Unit}
		for _, p := range points {
			c.X = append(c.X, p.x)
			l.Y, l.Low, l.High = append(l.Y, &p.e.Median), append(l.Low, p.e.Low), append(l.High, p.e.High)
		}
		c.Lines = []Line{l}
		out = append(out, c)
	}
	return out
}
