package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// conditions is the status in one line: those that are there.
func conditions(s *v1alpha1.StorageBenchmarkStatus) string {
	var out []string
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionComplete, v1alpha1.ConditionFailed, v1alpha1.ConditionResultsStored, v1alpha1.ConditionTunablesRestored} {
		if c := meta.FindStatusCondition(s.Conditions, kind); c != nil {
			out = append(out, fmt.Sprintf("%s=%s/%s", kind, c.Status, c.Reason))
		}
	}
	return strings.Join(out, " ")
}

func TestConditionsNeverContradictEachOther(t *testing.T) {
	s := &v1alpha1.StorageBenchmarkStatus{Run: &v1alpha1.RunStatus{TrialsPlanned: 2, TrialsStored: 2, WorkersTotal: 1, WorkersDone: 1}}
	finished := &metav1.Time{Time: noon}
	for _, step := range []struct {
		outcome Outcome
		ended   *metav1.Time
		records []Record
		want    string
	}{
		{Underway("Queued", "x", 0), nil, nil, "Ready=False/Queued Reconciling=True/Queued ResultsStored=Unknown/Running"},
		{Outcome{Reason: "PodUnschedulable", Stalled: true}, nil, nil, "Ready=False/PodUnschedulable Stalled=True/PodUnschedulable ResultsStored=Unknown/Running"},
		{Underway("Running", "x", 0), nil, nil, "Ready=False/Running Reconciling=True/Running ResultsStored=Unknown/Running"},
		{Outcome{}, finished, []Record{{Node: "a", Phase: v1alpha1.RestoreRunning}}, "Ready=False/Restoring Reconciling=True/Restoring Complete=True/Finished ResultsStored=True/Finished TunablesRestored=False/Restoring"},
		{Outcome{}, finished, []Record{{Node: "a", Phase: v1alpha1.RestoreFailed}}, "Ready=False/TunablesNotRestored Stalled=True/TunablesNotRestored Complete=True/Finished ResultsStored=True/Finished TunablesRestored=False/TunablesNotRestored"},
		{Outcome{}, finished, []Record{{Node: "a", Phase: v1alpha1.RestoreGone}}, "Ready=True/Finished Complete=True/Finished ResultsStored=True/Finished TunablesRestored=False/NodeGone"},
		{Outcome{}, finished, nil, "Ready=True/Finished Complete=True/Finished ResultsStored=True/Finished TunablesRestored=True/Restored"},
		{Underway("Pending", "x", 0), nil, nil, "Ready=False/Pending Reconciling=True/Pending ResultsStored=Unknown/Running TunablesRestored=True/Restored"},
	} {
		s.Run.FinishedAt = step.ended
		Summarize(s, Pass{Generation: 4, Now: noon, Outcome: step.outcome, Records: step.records})
		if got := conditions(s); got != step.want {
			t.Errorf("got  %s\nwant %s", got, step.want)
		}
	}
	if s.ObservedGeneration != 4 || s.Conditions[0].ObservedGeneration != 4 {
		t.Error("the generation is not recorded")
	}
}

func TestABenchmarkThatWasNeverStartedHasNoRunThatCouldEnd(t *testing.T) {
	s := &v1alpha1.StorageBenchmarkStatus{}
	Summarize(s, Pass{Generation: 1, Now: noon, Outcome: Outcome{Reason: "StorageClassNotFound", Stalled: true}})
	if got, want := conditions(s), "Ready=False/StorageClassNotFound Stalled=True/StorageClassNotFound ResultsStored=Unknown/Pending"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAFailedRunNamesTheFirstFailureAndCountsTheRest(t *testing.T) {
	run := &v1alpha1.RunStatus{
		TrialsPlanned: 24, TrialsStored: 18, WorkersTotal: 2, WorkersDone: 1, WorkersFailed: 1,
		StartedAt:  &metav1.Time{Time: noon.Add(-90 * time.Second)},
		FinishedAt: &metav1.Time{Time: noon},
		Failures:   []v1alpha1.WorkerFailure{{Worker: "fast.b", Reason: "NoSpace", Message: "the target is full"}},
	}
	s := &v1alpha1.StorageBenchmarkStatus{Run: run}
	Summarize(s, Pass{Generation: 1, Now: noon})
	c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionFailed)
	if c == nil || c.Reason != "NoSpace" || c.Message != "worker fast.b: the target is full (1 of 2 workers failed; 18 of 24 trials stored)" {
		t.Errorf("%+v", c)
	}
	if got, want := conditions(s), "Ready=False/NoSpace Stalled=True/NoSpace Failed=True/NoSpace ResultsStored=False/ResultsNotStored"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	run.WorkersDone, run.WorkersFailed, run.Failures, run.TrialsStored = 2, 0, nil, 24
	Summarize(s, Pass{Generation: 1, Now: noon})
	c = meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	if want := "measured 24 trials of 2 workers in 1m30s"; c.Message != want {
		t.Errorf("got %q, want %q", c.Message, want)
	}
}

func summary(rows int) result.Summary {
	h := &histogram.Histogram{}
	h.Add(310_000, 999)
	h.Add(20_000_000, 1)
	low, high := 11_000.4, 13_000.0
	s := result.Summary{}
	for i := range rows {
		s.Rows = append(s.Rows, result.Row{
			Target: "fast", Workload: "oltp", Node: fmt.Sprintf("node-%d", i), N: 6,
			Metrics: map[string]result.Estimate{
				"read.iops":      {Median: 12_345.6, Low: &low, High: &high, N: 6},
				"read.bandwidth": {Median: 50_000_000, N: 6},
				"write.iops":     {Median: 0.125, N: 6},
			},
			Histograms: result.Histograms{"read": h},
		})
	}
	return s
}

func TestSummaryRowsCarryMediansIntervalsAndMergedPercentiles(t *testing.T) {
	st := &v1alpha1.StorageBenchmarkStatus{}
	Summary(st, summary(1))
	y, err := yaml.Marshal(st.Summary)
	if err != nil {
		t.Fatal(err)
	}
	const want = `- node: node-0
  operations:
  - bandwidth:
      median: 50M
    iops:
      high: 13k
      low: 11k
      median: "12346"
    latency:
      p50: 309.248µs
      p99: 309.248µs
      p999: 309.248µs
    operation: read
  - iops:
      median: 125m
    operation: write
  target: fast
  trials: 6
  workload: oltp
`
	if string(y) != want {
		t.Errorf("got\n%s\nwant\n%s", y, want)
	}
}

func TestAStatusStaysSmall(t *testing.T) {
	st := &v1alpha1.StorageBenchmarkStatus{}
	Summary(st, summary(1000))
	y, _ := yaml.Marshal(st)
	if len(st.Summary) != MaxRows || st.SummaryOmitted != 1000-MaxRows || len(y) > 100_000 {
		t.Errorf("%d rows, %d omitted, %d bytes", len(st.Summary), st.SummaryOmitted, len(y))
	}
}

func TestPartsAreReadBackAndMixturesAreNoRows(t *testing.T) {
	s := summary(2)
	s.Rows[1] = s.Rows[0]
	s.Rows[1].Part = "log"
	s.Rows[0].Operations, s.Rows[0].Metrics = nil, map[string]result.Estimate{"cpu.user": {}}
	s.Comparisons = []result.Comparison{{Target: "fast", Workload: "oltp", Part: "log", Node: "a", Variant: "v", Metrics: map[string]result.Change{"read.iops": {Control: 1, Variant: 1}}}}
	st := v1alpha1.StorageBenchmarkStatus{}
	Summary(&st, s)
	if rows := Rows(st); len(rows) != 1 || rows[0].Part != "log" || st.SummaryOmitted != 0 || len(rows[0].Metrics) == 0 {
		t.Errorf("%+v", rows)
	}
	if c := Comparisons(st); len(c) != 1 || c[0].Part != "log" {
		t.Errorf("%+v", c)
	}
}

func TestRowsReadBackWhatSummaryWrote(t *testing.T) {
	st := v1alpha1.StorageBenchmarkStatus{}
	Summary(&st, summary(2))
	rows := Rows(st)
	iops := rows[1].Metrics["read.iops"]
	if len(rows) != 2 || iops.Median != 12346 || *iops.High != 13000 || *rows[1].Metrics["read.latency.p99.9"].Pooled != 309.248e-6 {
		t.Errorf("%+v", rows)
	}
}

func TestComparisonsAreSmallReadableAndReadBack(t *testing.T) {
	low, high := 0.6123, 0.7
	s := result.Summary{Comparisons: []result.Comparison{{
		Target: "fast", Workload: "sync", Node: "a", Variant: "no-flush", Control: "flush",
		Metrics: map[string]result.Change{
			"write.iops":         {Unit: result.PerSecond, Pairs: 5, Control: 20_123.4, Variant: 31_000, Ratio: &result.Interval{Median: 1.54}},
			"write.latency.p99":  {Unit: result.Seconds, Pairs: 6, Control: 449.4e-6, Variant: 293e-6, Ratio: &result.Interval{Median: 0.652, Low: &low, High: &high}},
			"device.flush.count": {Unit: result.Count, Pairs: 6, Control: 0, Variant: 3000},
			"device.read.count":  {Unit: result.Count, Control: 1, Variant: 3000},
		},
	}}}
	st := v1alpha1.StorageBenchmarkStatus{}
	Summary(&st, s)
	y, err := yaml.Marshal(st.Comparisons)
	if err != nil {
		t.Fatal(err)
	}
	const want = `- changes:
  - control: "20123"
    metric: write.iops
    pairs: 5
    ratio:
      median: 1540m
    variant: 31k
  - control: 449u
    metric: write.latency.p99
    pairs: 6
    ratio:
      high: 700m
      low: 612m
      median: 652m
    variant: 293u
  - control: "0"
    metric: device.flush.count
    pairs: 6
    variant: 3k
  control: flush
  node: a
  target: fast
  variant: no-flush
  workload: sync
`
	if string(y) != want {
		t.Errorf("got\n%s\nwant\n%s", y, want)
	}
	var before, after strings.Builder
	if err := errors.Join(report.Comparisons(&before, s), report.Comparisons(&after, result.Summary{Comparisons: Comparisons(st)})); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() || strings.Count(before.String(), "\n") != 5 {
		t.Errorf("the report of the summary\n%s\nand of the status\n%s", before.String(), after.String())
	}
}

func TestShortenLeavesOutWhatControlsATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[2Jfio\r\x07 failed": "[2Jfio failed",
		"a\u202eb\u200bc\x00":     "abc",
		"two\nlines\tof é世\u00a0": "two\nlines\tof é世\u00a0",
	} {
		if got := Shorten(in, 100); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestShortenKeepsCharactersWhole(t *testing.T) {
	for n := range 20 {
		if s := Shorten("aéßµ世界é", n+3); len(s) > n+3 || !utf8.ValidString(s) {
			t.Errorf("%d: %q", n, s)
		}
	}
}
