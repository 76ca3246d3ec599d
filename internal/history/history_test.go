package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// run is the n-th benchmark, with one row that read so many I/Os per second.
func run(n int, iops float64, change ...func(*v1alpha1.StorageBenchmark)) *v1alpha1.StorageBenchmark {
	b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s-%d", n), Generation: 1}}
	b.Status.ObservedGeneration = 1
	b.Status.Run = &v1alpha1.RunStatus{ID: fmt.Sprintf("r%d", n), FinishedAt: &metav1.Time{Time: start}}
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue}}
	b.Status.Facts = map[string]string{"kernel": "6.1"}
	b.Status.Headline = "read"
	b.Status.Summary = []v1alpha1.SummaryRow{{Target: "t", Workload: "w", Node: "a", Trials: 6, Operations: []v1alpha1.OperationSummary{{
		Operation: "read", IOPS: &v1alpha1.Estimate{Median: *resource.NewQuantity(int64(iops), resource.DecimalSI)},
		Bandwidth: &v1alpha1.Estimate{Median: *resource.NewQuantity(int64(iops)*4096, resource.DecimalSI)},
		Latency:   &v1alpha1.LatencySummary{P99: metav1.Duration{Duration: 10 * time.Millisecond}},
	}}}}
	for _, c := range change {
		c(b)
	}
	return b
}

// recordAll records runs with these rates, one an hour.
func recordAll(s *v1alpha1.StorageBenchmarkScheduleStatus, rates []float64, change ...func(n int, b *v1alpha1.StorageBenchmark)) {
	for i, rate := range rates {
		b := run(i, rate*(1+0.002*float64(i%3)))
		for _, c := range change {
			c(i, b)
		}
		Record(s, b, metav1.NewTime(start.Add(time.Duration(i)*time.Hour)))
	}
}

func levels(pairs ...float64) (out []float64) {
	for i := 0; i < len(pairs); i += 2 {
		for range int(pairs[i]) {
			out = append(out, pairs[i+1])
		}
	}
	return out
}

func TestAChangeIsToldWithItsRunAndWhatElseChanged(t *testing.T) {
	s := &v1alpha1.StorageBenchmarkScheduleStatus{}
	recordAll(s, levels(7, 1000, 3, 600), func(n int, b *v1alpha1.StorageBenchmark) {
		if n >= 7 {
			b.Status.Facts = map[string]string{"kernel": "6.1", "queue's max_sectors_kb": "4"}
		} else {
			b.Status.Facts["queue's max_sectors_kb"] = "1280"
		}
	})
	c := Judge(s, DefaultMinChange, nil)
	if c.Status != metav1.ConditionTrue || c.Reason != reason.MediansWorse {
		t.Errorf("%+v", c)
	}
	for _, want := range []string{"read.iops of t/w on a", "since s-7", "-40.", "queue's max_sectors_kb: 1280 -> 4"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("%q does not say %q", c.Message, want)
		}
	}
	if len(s.Changes) != 1 {
		t.Fatalf("changes %+v", s.Changes)
	}
	got := s.Changes[0]
	if got.State != v1alpha1.ChangeConfirmed || got.Direction != v1alpha1.ChangeWorse || !got.Present || !got.SinceTime.Equal(&metav1.Time{Time: start.Add(7 * time.Hour)}) {
		t.Errorf("%+v", got)
	}
}

func TestRegressed(t *testing.T) {
	gone := func(n int, b *v1alpha1.StorageBenchmark) {
		if n >= 12 {
			b.Status.Summary[0].Node = "b"
		}
	}
	invalid := func(_ int, b *v1alpha1.StorageBenchmark) {
		b.Status.Summary[0].Verdicts = []v1alpha1.VerdictSummary{{Name: "FromMemory", Effect: "Invalidates", Trials: 6}}
	}
	failed := func(n int, b *v1alpha1.StorageBenchmark) {
		if n >= 7 {
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFailed, Status: metav1.ConditionTrue, Reason: "WorkloadFailed", Message: "fio ended"}}
		}
	}
	asIs := func(int, *v1alpha1.StorageBenchmark) {}
	for name, c := range map[string]struct {
		rates  []float64
		change func(int, *v1alpha1.StorageBenchmark)
		acks   []string
		status metav1.ConditionStatus
		reason string
		state  v1alpha1.ChangeState
	}{
		"no runs":                          {nil, asIs, nil, metav1.ConditionUnknown, reason.HistoryTooShort, ""},
		"five runs":                        {levels(5, 1000), asIs, nil, metav1.ConditionUnknown, reason.HistoryTooShort, ""},
		"nothing changed":                  {levels(9, 1000), asIs, nil, metav1.ConditionFalse, reason.NoRegression, ""},
		"one run is slower":                {levels(8, 1000, 1, 500), asIs, nil, metav1.ConditionFalse, reason.NoRegression, v1alpha1.ChangeSuspected},
		"two runs are slower":              {levels(8, 1000, 2, 500), asIs, nil, metav1.ConditionTrue, reason.MediansWorse, v1alpha1.ChangeConfirmed},
		"faster":                           {levels(8, 1000, 4, 1500), asIs, nil, metav1.ConditionFalse, reason.NoRegression, v1alpha1.ChangeConfirmed},
		"acknowledged":                     {levels(8, 1000, 4, 500), asIs, []string{"s-8"}, metav1.ConditionFalse, reason.NoRegression, v1alpha1.ChangeConfirmed},
		"acknowledged where it was":        {levels(8, 1000, 4, 500), asIs, []string{"s-9"}, metav1.ConditionFalse, reason.NoRegression, v1alpha1.ChangeConfirmed},
		"another one is acknowledged":      {levels(8, 1000, 4, 500), asIs, []string{"s-2"}, metav1.ConditionTrue, reason.MediansWorse, v1alpha1.ChangeConfirmed},
		"well again":                       {levels(12, 1000, 12, 500, 12, 1000), asIs, nil, metav1.ConditionFalse, reason.NoRegression, v1alpha1.ChangeConfirmed},
		"the node is measured no more":     {levels(8, 1000, 4, 500, 2, 1000), gone, nil, metav1.ConditionFalse, reason.NoRegression, v1alpha1.ChangeConfirmed},
		"numbers that are worthless":       {levels(8, 1000, 4, 500), invalid, nil, metav1.ConditionUnknown, reason.HistoryTooShort, ""},
		"runs that failed are not slower":  {levels(7, 1000, 4, 500), failed, nil, metav1.ConditionFalse, reason.NoRegression, ""},
		"a change below the smallest, 3 %": {levels(10, 1000, 10, 985), asIs, nil, metav1.ConditionFalse, reason.NoRegression, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &v1alpha1.StorageBenchmarkScheduleStatus{}
			recordAll(s, c.rates, c.change)
			got := Judge(s, DefaultMinChange, c.acks)
			if got.Status != c.status || got.Reason != c.reason {
				t.Errorf("%+v, want %s %s", got, c.status, c.reason)
			}
			state := v1alpha1.ChangeState("")
			if len(s.Changes) > 0 {
				state = s.Changes[0].State
			}
			if state != c.state {
				t.Errorf("the first change is %q, want %q: %+v", state, c.state, s.Changes)
			}
		})
	}
}

func TestTheStatusIsBounded(t *testing.T) {
	s := &v1alpha1.StorageBenchmarkScheduleStatus{}
	recordAll(s, levels(70, 1000), func(n int, b *v1alpha1.StorageBenchmark) {
		row := b.Status.Summary[0]
		for i := range 80 {
			row.Node = fmt.Sprintf("n%d", i)
			b.Status.Summary = append(b.Status.Summary, row)
		}
		b.Status.Facts = map[string]string{}
		for i := range 30 {
			b.Status.Facts[fmt.Sprintf("fact %d", i)] = fmt.Sprintf("%d %s", n, strings.Repeat("x", 300))
		}
	})
	Judge(s, DefaultMinChange, nil)
	if len(s.Runs) != MaxRuns || len(s.Series) != MaxSeries || s.SeriesOmitted == 0 || s.Succeeded != 70 {
		t.Errorf("%d runs, %d series, %d omitted, %d succeeded", len(s.Runs), len(s.Series), s.SeriesOmitted, s.Succeeded)
	}
	for _, series := range s.Series {
		if len(series.Points) != MaxRuns {
			t.Fatalf("%+v has %d points", series.SeriesKey, len(series.Points))
		}
	}
	for _, d := range s.Runs[10].Differences {
		if len(d) > 256 {
			t.Errorf("a difference has %d bytes", len(d))
		}
	}
	if n := len(s.Runs[10].Differences); n != maxDifferences {
		t.Errorf("a run has %d differences", n)
	}
}

func TestMetricsOfGatesHaveASeries(t *testing.T) {
	s := &v1alpha1.StorageBenchmarkScheduleStatus{}
	Record(s, run(0, 10, func(b *v1alpha1.StorageBenchmark) {
		b.Spec.Gates = []v1alpha1.Gate{{Workload: "w", Metric: "read.latency.p99"}, {Workload: "other", Metric: "read.latency.p50"}}
	}), metav1.NewTime(start))
	var got []string
	for _, series := range s.Series {
		got = append(got, series.Metric+" "+series.Points[0].Median.String())
	}
	if diff := cmp.Diff([]string{"read.iops 10", "read.latency.p99 10m"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheLatestQualifiedRunIsTheNextBaseline(t *testing.T) {
	s := &v1alpha1.StorageBenchmarkScheduleStatus{}
	Record(s, run(0, 10, func(b *v1alpha1.StorageBenchmark) { b.Status.LatestQualified = "r0" }), metav1.NewTime(start))
	Record(s, run(1, 5, func(b *v1alpha1.StorageBenchmark) {
		b.Status.Baseline = &v1alpha1.BaselineStatus{Outcome: "Regression"}
	}), metav1.NewTime(start))
	if want := (&v1alpha1.RunReference{Benchmark: "s-0", Run: "r0"}); cmp.Diff(want, s.LatestQualified) != "" || s.LastRun.Baseline != "Regression" {
		t.Errorf("%+v, last run %+v", s.LatestQualified, s.LastRun)
	}
}

func TestAcknowledged(t *testing.T) {
	for annotation, c := range map[string]struct {
		want []string
		err  string
	}{
		"":                               {},
		"s-1, s-2":                       {want: []string{"s-1", "s-2"}},
		"read.iops of s-1":               {err: "no name of a benchmark; write names of benchmarks as in status.changes[].since"},
		"s-1,,s-2":                       {err: `"" is no name`},
		strings.Repeat("a", 64):          {err: "no name"},
		strings.Repeat("s-1,", 64) + "b": {err: "the limit is 64"},
	} {
		got, err := Acknowledged(annotation)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%.40q (-want +got):\n%s", annotation, diff)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%.40q: error %v, want %q", annotation, err, c.err)
		}
	}
}
