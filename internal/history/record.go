package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
)

// Limits of the status, as in the API's schema.
const (
	MaxRuns        = 50
	MaxSeries      = 64
	maxChanges     = 32
	maxDifferences = 8
)

// Ended reports whether the run of a benchmark's present spec has ended.
func Ended(b *v1alpha1.StorageBenchmark) bool {
	return b.Status.ObservedGeneration == b.Generation && b.Status.Run != nil && b.Status.Run.FinishedAt != nil
}

// Outcome of a run that has ended.
func Outcome(b *v1alpha1.StorageBenchmark) v1alpha1.RunOutcome {
	if meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionComplete) {
		return v1alpha1.RunComplete
	}
	return v1alpha1.RunFailed
}

// Has reports whether a benchmark's run is recorded.
func Has(s *v1alpha1.StorageBenchmarkScheduleStatus, benchmark string) bool {
	return slices.ContainsFunc(s.Runs, func(r v1alpha1.ScheduledRun) bool { return r.Benchmark == benchmark })
}

// Record adds a run that has ended. A failed one has no medians: what it measured is not all.
func Record(s *v1alpha1.StorageBenchmarkScheduleStatus, b *v1alpha1.StorageBenchmark, scheduled metav1.Time) {
	run := v1alpha1.ScheduledRun{Benchmark: b.Name, ScheduledAt: scheduled, Outcome: Outcome(b)}
	last := &v1alpha1.LastRun{Benchmark: b.Name, Outcome: run.Outcome, Headline: b.Status.Headline, FinishedAt: b.Status.Run.FinishedAt}
	if b.Status.Answer != nil {
		last.Answer = b.Status.Answer.Answer
	}
	if b.Status.Baseline != nil {
		run.Baseline = b.Status.Baseline.Outcome
		last.Baseline = run.Baseline
	}
	if run.Outcome == v1alpha1.RunFailed {
		s.Failed++
		if failed := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionFailed); failed != nil {
			last.Headline = shorten(failed.Reason+": "+failed.Message, 256)
		}
	} else {
		s.Succeeded++
		if b.Status.LatestQualified != "" {
			s.LatestQualified = &v1alpha1.RunReference{Benchmark: b.Name, Run: b.Status.LatestQualified, SummaryDigest: b.Status.LatestQualifiedDigest}
		}
		run.Differences = differences(s.Facts, b.Status.Facts)
		if len(b.Status.Facts) > 0 {
			s.Facts = b.Status.Facts
		}
		points, invalid := pointsOf(b)
		run.Invalid = invalid
		add(s, b.Name, points)
	}
	s.LastRun = last
	// In the order of their times, as what was dropped is told by them: runs may end in another.
	s.Runs = append(s.Runs, run)
	slices.SortStableFunc(s.Runs, func(a, b v1alpha1.ScheduledRun) int { return a.ScheduledAt.Compare(b.ScheduledAt.Time) })
	if n := len(s.Runs) - MaxRuns; n > 0 {
		s.Runs = slices.Delete(s.Runs, 0, n)
	}
	forget(s)
}

// differences names the facts that are others than before.
func differences(before, now map[string]string) []string {
	var out []string
	more := 0
	for _, name := range slices.Sorted(maps.Keys(now)) {
		was, ok := before[name]
		switch {
		case !ok || was == now[name]:
		case len(out) < maxDifferences-1:
			out = append(out, shorten(fmt.Sprintf("%s: %s -> %s", name, was, now[name]), 256))
		default:
			more++
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}

// point is a median of one series.
type point struct {
	key    v1alpha1.SeriesKey
	median resource.Quantity
}

// pointsOf returns the medians of a benchmark: of each row the rate of its first operation, and the
// metrics of its gates. invalid counts the rows that a verdict makes worthless.
func pointsOf(b *v1alpha1.StorageBenchmark) (points []point, invalid int32) {
	for _, row := range b.Status.Summary {
		broken := brokenOperations(row)
		if slices.Contains(broken, "") || len(row.Operations) > 0 && slices.Contains(broken, row.Operations[0].Operation) {
			invalid++
		}
		for i, op := range row.Operations {
			if slices.Contains(broken, "") || slices.Contains(broken, op.Operation) {
				continue
			}
			for _, m := range metricsOf(op) {
				if i == 0 && m.rate || slices.ContainsFunc(b.Spec.Gates, func(g v1alpha1.Gate) bool { return gated(g, row, m.name) }) {
					points = append(points, point{key: key(row, m.name), median: m.value})
				}
			}
		}
	}
	return points, invalid
}

func key(row v1alpha1.SummaryRow, metric string) v1alpha1.SeriesKey {
	return v1alpha1.SeriesKey{Target: row.Target, Workload: row.Workload, Node: row.Node, Variant: row.Variant, Part: row.Part, Metric: metric}
}

// brokenOperations are those of a row whose numbers say nothing about the storage; "" is all.
func brokenOperations(row v1alpha1.SummaryRow) []string {
	var out []string
	for _, v := range row.Verdicts {
		switch {
		case v.Effect != "Invalidates":
		case len(v.Operations) == 0:
			out = append(out, "")
		default:
			out = append(out, v.Operations...)
		}
	}
	return out
}

// metric is one of an operation.
type metric struct {
	name  string
	value resource.Quantity
	// rate: it is the first of iops, rate and bandwidth that the operation has.
	rate bool
}

func metricsOf(op v1alpha1.OperationSummary) []metric {
	var out []metric
	for _, m := range []struct {
		name     string
		estimate *v1alpha1.Estimate
	}{{"iops", op.IOPS}, {"rate", op.Rate}, {"bandwidth", op.Bandwidth}} {
		if m.estimate != nil && !m.estimate.AtLeast {
			out = append(out, metric{name: op.Operation + "." + m.name, value: m.estimate.Median, rate: len(out) == 0})
		}
	}
	if l := op.Latency; l != nil {
		for _, p := range []struct {
			name string
			at   metav1.Duration
		}{{"p50", l.P50}, {"p99", l.P99}, {"p99.9", l.P999}} {
			out = append(out, metric{name: op.Operation + ".latency." + p.name, value: *resource.NewScaledQuantity(p.at.Nanoseconds(), resource.Nano)})
		}
	}
	return out
}

// gated reports whether a gate is about a metric of a row.
func gated(g v1alpha1.Gate, row v1alpha1.SummaryRow, metric string) bool {
	return g.Metric == metric && g.Workload == row.Workload &&
		(g.Target == "" || g.Target == row.Target) && (g.Variant == "" || g.Variant == row.Variant) && (g.Part == "" || g.Part == row.Part)
}

// add adds the points of a run to their series. What was measured last goes before what was not.
func add(s *v1alpha1.StorageBenchmarkScheduleStatus, run string, points []point) {
	for _, p := range points {
		at := v1alpha1.Point{Run: run, Median: p.median}
		i := slices.IndexFunc(s.Series, func(series v1alpha1.Series) bool { return series.SeriesKey == p.key })
		if i < 0 {
			s.Series = append(s.Series, v1alpha1.Series{SeriesKey: p.key, Points: []v1alpha1.Point{at}})
			continue
		}
		s.Series[i].Points = append(s.Series[i].Points, at)
	}
	slices.SortStableFunc(s.Series, func(a, b v1alpha1.Series) int {
		return cmp.Or(newest(b, run)-newest(a, run), cmp.Compare(len(b.Points), len(a.Points)), compareKeys(a.SeriesKey, b.SeriesKey))
	})
	s.SeriesOmitted = int32(max(len(s.Series)-MaxSeries, 0))
	s.Series = s.Series[:min(len(s.Series), MaxSeries)]
}

func newest(s v1alpha1.Series, run string) int {
	if n := len(s.Points); n > 0 && s.Points[n-1].Run == run {
		return 1
	}
	return 0
}

func compareKeys(a, b v1alpha1.SeriesKey) int {
	return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Variant, b.Variant),
		cmp.Compare(a.Part, b.Part), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Metric, b.Metric))
}

// forget drops the points of runs that are no longer recorded, and series without any.
func forget(s *v1alpha1.StorageBenchmarkScheduleStatus) {
	for i := range s.Series {
		s.Series[i].Points = slices.DeleteFunc(s.Series[i].Points, func(p v1alpha1.Point) bool { return !Has(s, p.Run) })
	}
	s.Series = slices.DeleteFunc(s.Series, func(series v1alpha1.Series) bool { return len(series.Points) == 0 })
}

// shorten cuts a text to at most n bytes, never inside a character.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len("…")], "") + "…"
}
