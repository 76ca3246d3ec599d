package status

import (
	"slices"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
)

// MaxSweeps and maxPoints are the number of sweeps, and of points of each, in a status: about 8 KiB for
// a sweep.
const (
	MaxSweeps = 8
	maxPoints = 32
)

// Notes of points.
const (
	noteBest    = "Best"
	noteTied    = "Tied"
	noteWorse   = "Worse"
	noteInvalid = "Invalid"
)

// setSweeps writes the curves of a summary.
func setSweeps(status *v1alpha1.StorageBenchmarkStatus, s result.Summary) {
	status.Sweeps = nil
	for _, sweep := range s.Sweeps[:min(len(s.Sweeps), MaxSweeps)] {
		out := v1alpha1.SweepStatus{
			Target: sweep.Target, Node: sweep.Node, Workload: sweep.Workload, Variant: sweep.Variant,
			Parameters: slices.Clone(sweep.Parameters), Metric: Shorten(sweep.Metric, 64), Message: Shorten(sweep.Sentence, 512),
		}
		if k := sweep.Knee; k != nil {
			out.Knee = &v1alpha1.KneeStatus{Outcome: k.Outcome, Lower: k.Lower, Upper: k.Upper}
		}
		for i, p := range sweep.Points[:min(len(sweep.Points), maxPoints)] {
			point := v1alpha1.SweepPointStatus{Workload: p.Workload, Variant: p.Variant, Values: slices.Clone(p.Values), Trials: int32(p.N)}
			if p.Estimate != nil {
				point.Value, point.Note = interval(p.Estimate.Median, p.Estimate.Low, p.Estimate.High), noteOf(sweep, i)
			}
			if p.Latency != nil {
				point.Latency = interval(p.Latency.Median, p.Latency.Low, p.Latency.High)
			}
			out.Points = append(out.Points, point)
		}
		status.Sweeps = append(status.Sweeps, out)
	}
}

func noteOf(s result.Sweep, i int) string {
	switch p := s.Points[i]; {
	case s.Knee != nil && !p.Over:
		return ""
	case s.Best != nil && *s.Best == i:
		return noteBest
	case len(p.InvalidatedBy) > 0:
		return noteInvalid
	case p.Tied:
		return noteTied
	default:
		return noteWorse
	}
}

// Sweeps converts a status's sweeps to those of a summary, for package report.
func Sweeps(status v1alpha1.StorageBenchmarkStatus) []result.Sweep {
	var all []result.Sweep
	for _, s := range status.Sweeps {
		sweep := result.Sweep{
			Target: s.Target, Node: s.Node, Workload: s.Workload, Variant: s.Variant, Parameters: s.Parameters,
			Metric: s.Metric, Unit: result.UnitOf(s.Metric), Sentence: s.Message,
		}
		if k := s.Knee; k != nil {
			sweep.Knee = &result.Knee{Outcome: k.Outcome, Metric: s.Metric, Lower: k.Lower, Upper: k.Upper}
		}
		for i, p := range s.Points {
			point := result.SweepPoint{
				Workload: p.Workload, Variant: p.Variant, Values: p.Values, N: int(p.Trials),
				Estimate: intervalFrom(p.Value), Latency: intervalFrom(p.Latency), Tied: p.Note == noteTied, Over: s.Knee != nil && p.Note == noteWorse,
			}
			switch p.Note {
			case noteBest:
				sweep.Best = new(i)
			case noteInvalid:
				point.InvalidatedBy = []string{"see the row's verdicts"}
			}
			sweep.Points = append(sweep.Points, point)
		}
		all = append(all, sweep)
	}
	return all
}

func intervalFrom(e *v1alpha1.Estimate) *result.Interval {
	if e == nil {
		return nil
	}
	out := &result.Interval{Median: e.Median.AsApproximateFloat64()}
	if e.Low != nil && e.High != nil {
		out.Low, out.High = new(e.Low.AsApproximateFloat64()), new(e.High.AsApproximateFloat64())
	}
	return out
}
