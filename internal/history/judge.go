package history

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/changes"
	"storagebench.io/storagebench/internal/result"
)

// DefaultMinChange is the smallest change that is told.
const DefaultMinChange = 0.03

// Condition is what Judge says of the condition Regressed.
type Condition struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

// Judge computes the changes of all series anew. minChange is 0.03 for 3 %; acknowledged names the
// benchmarks with which changes began that somebody knows of.
func Judge(s *v1alpha1.StorageBenchmarkScheduleStatus, minChange float64, acknowledged []string) Condition {
	s.Changes = nil
	judged := 0
	for _, series := range s.Series {
		told, tooShort := changes.Tell(values(series), minChange)
		if !tooShort {
			judged++
		}
		better, ok := result.Better(series.Metric)
		if !ok {
			continue
		}
		for _, c := range told {
			s.Changes = append(s.Changes, change(s, series, c, better, acknowledged))
		}
	}
	slices.SortStableFunc(s.Changes, func(a, b v1alpha1.Change) int {
		return cmp.Or(rank(a)-rank(b), b.SinceTime.Compare(a.SinceTime.Time), compareKeys(a.SeriesKey, b.SeriesKey))
	})
	regressions := slices.IndexFunc(s.Changes, func(c v1alpha1.Change) bool { return rank(c) > 0 })
	if regressions < 0 {
		regressions = len(s.Changes)
	}
	out := condition(s, judged, regressions)
	s.Changes = s.Changes[:min(len(s.Changes), maxChanges)]
	return out
}

func condition(s *v1alpha1.StorageBenchmarkScheduleStatus, judged, regressions int) Condition {
	switch {
	case regressions > 0:
		message := Sentence(s.Changes[0])
		if regressions > 1 {
			message += fmt.Sprintf("; and %d more in status.changes", regressions-1)
		}
		return Condition{metav1.ConditionTrue, reason.MediansWorse, message}
	case judged == 0:
		return Condition{metav1.ConditionUnknown, reason.HistoryTooShort, fmt.Sprintf("a change is told from %d complete runs on; there are %d",
			changes.MinBefore+1, complete(s))}
	case len(s.Changes) > 0:
		return Condition{metav1.ConditionFalse, reason.NoRegression, "no median that is still measured is confirmed to be worse, or somebody has acknowledged it; status.changes has what changed"}
	}
	return Condition{metav1.ConditionFalse, reason.NoRegression, "no median has changed"}
}

// rank orders changes: 0 is a regression, then what may become one, and last what is over.
func rank(c v1alpha1.Change) int {
	switch {
	case !c.Present || c.Acknowledged:
		return 4
	case c.Direction == v1alpha1.ChangeBetter:
		return 3
	case c.State == v1alpha1.ChangeConfirmed:
		return 0
	case c.State == v1alpha1.ChangeSuspected:
		return 1
	}
	return 2
}

// Sentence says what changed, since when, and what else was different then.
func Sentence(c v1alpha1.Change) string {
	where := c.Target + "/" + c.Workload
	if c.Variant != "" {
		where += "." + c.Variant
	}
	if c.Part != "" {
		where += " (" + c.Part + ")"
	}
	text := fmt.Sprintf("%s of %s on %s: %s since %s (%s -> %s)", c.Metric, where, c.Node, c.Percent, c.Since, c.From.String(), c.To.String())
	if len(c.Differences) > 0 {
		text += "; at that run also changed: " + strings.Join(c.Differences, ", ")
	}
	return text
}

func complete(s *v1alpha1.StorageBenchmarkScheduleStatus) (n int) {
	for _, r := range s.Runs {
		if r.Outcome == v1alpha1.RunComplete {
			n++
		}
	}
	return n
}

func values(series v1alpha1.Series) []float64 {
	out := make([]float64, len(series.Points))
	for i := range series.Points {
		out[i] = series.Points[i].Median.AsApproximateFloat64()
	}
	return out
}

// change puts what was found in a series into the words of the API.
func change(s *v1alpha1.StorageBenchmarkScheduleStatus, series v1alpha1.Series, c changes.Change, better result.Direction, acknowledged []string) v1alpha1.Change {
	out := v1alpha1.Change{
		SeriesKey: series.SeriesKey, State: v1alpha1.ChangeConfirmed, Direction: v1alpha1.ChangeWorse, Since: series.Points[c.Index].Run,
		From: quantity(c.From), To: quantity(c.To), Percent: percent(c.Relative()),
		Present: c.Stands && measuredLast(s, series),
	}
	switch {
	case c.Kind == changes.Trend:
		out.State = v1alpha1.ChangeTrend
	case c.Runs < 2:
		out.State = v1alpha1.ChangeSuspected
	}
	if (c.To > c.From) == (better == result.Higher) {
		out.Direction = v1alpha1.ChangeBetter
	}
	if i := slices.IndexFunc(s.Runs, func(r v1alpha1.ScheduledRun) bool { return r.Benchmark == out.Since }); i >= 0 {
		out.SinceTime, out.Differences = s.Runs[i].ScheduledAt, s.Runs[i].Differences
	}
	// Where a change begins may move by a run when more are known.
	for i := max(c.Index-1, 0); i <= min(c.Index+1, len(series.Points)-1); i++ {
		out.Acknowledged = out.Acknowledged || slices.Contains(acknowledged, series.Points[i].Run)
	}
	return out
}

// measuredLast reports whether the last complete run has measured a series.
func measuredLast(s *v1alpha1.StorageBenchmarkScheduleStatus, series v1alpha1.Series) bool {
	for _, run := range slices.Backward(s.Runs) {
		if run.Outcome == v1alpha1.RunComplete {
			// Points are in the order in which runs ended.
			return slices.ContainsFunc(series.Points, func(p v1alpha1.Point) bool { return p.Run == run.Benchmark })
		}
	}
	return false
}

func percent(relative float64) string {
	if math.IsInf(relative, 0) {
		return "from 0"
	}
	return strconv.FormatFloat(math.Max(-999999, math.Min(999999, 100*relative)), 'f', 1, 64) + "%"
}

// quantity keeps three decimals, or three digits of what is small, such as a latency in seconds.
func quantity(v float64) resource.Quantity {
	switch abs := math.Abs(v); {
	case abs > 1e15:
		q, err := resource.ParseQuantity(strconv.FormatFloat(v, 'e', 6, 64))
		if err != nil {
			return resource.Quantity{}
		}
		return q
	case abs > 0 && abs < 0.1:
		unit := math.Pow(10, math.Max(math.Floor(math.Log10(abs))-2, -9))
		return *resource.NewScaledQuantity(int64(math.Round(math.Round(v/unit)*unit*1e9)), resource.Nano)
	case abs < 1000:
		return *resource.NewMilliQuantity(int64(math.Round(v*1000)), resource.DecimalSI)
	}
	return *resource.NewQuantity(int64(math.Round(v)), resource.DecimalSI)
}

var benchmarkName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// maxAcknowledged is how many benchmarks the annotation may name.
const maxAcknowledged = 64

// Acknowledged reads the annotation storagebench.io/acknowledge. Its error says what to write.
func Acknowledged(annotation string) ([]string, error) {
	const remedy = "write names of benchmarks as in status.changes[].since, separated by commas"
	if strings.TrimSpace(annotation) == "" {
		return nil, nil
	}
	names := strings.Split(annotation, ",")
	if len(names) > maxAcknowledged {
		return nil, fmt.Errorf("annotation %s names %d benchmarks, the limit is %d; remove those of changes that are no longer in status.changes",
			v1alpha1.AnnotationAcknowledge, len(names), maxAcknowledged)
	}
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
		if len(names[i]) > 63 || !benchmarkName.MatchString(names[i]) {
			return nil, fmt.Errorf("annotation %s: %q is no name of a benchmark; %s", v1alpha1.AnnotationAcknowledge, shorten(names[i], 80), remedy)
		}
	}
	return names, nil
}
