package metrics

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
)

// cached is a cache with that in it, or that error.
type cached struct {
	client.Reader
	world World
	err   error
}

func (c cached) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *v1alpha1.StorageBenchmarkList:
		l.Items = c.world.Benchmarks
	case *v1alpha1.StorageBenchmarkScheduleList:
		l.Items = c.world.Schedules
	case *v1alpha1.NodeRestoreList:
		l.Items = c.world.Records
	case *v1alpha1.ResultStoreList:
		l.Items = c.world.Stores
	case *coordinationv1.LeaseList:
		l.Items = c.world.Leases
	default:
		return fmt.Errorf("nobody lists a %T", list)
	}
	return c.err
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func estimate(median string, bounds ...string) *v1alpha1.Estimate {
	e := &v1alpha1.Estimate{Median: resource.MustParse(median)}
	if len(bounds) == 2 {
		e.Low, e.High = new(resource.MustParse(bounds[0])), new(resource.MustParse(bounds[1]))
	}
	return e
}

// measured is a benchmark that has ended at noon plus that many minutes.
func measured(namespace, name string, minute int) v1alpha1.StorageBenchmark {
	ended := metav1.NewTime(noon.Add(time.Duration(minute) * time.Minute))
	b := v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	b.Status.Run = &v1alpha1.RunStatus{TrialsPlanned: 6, TrialsStored: 6, FinishedAt: &ended}
	b.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Finished"},
		{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue, Reason: "Finished"},
	}
	b.Status.Summary = []v1alpha1.SummaryRow{{
		Target: "fast", Node: "node-a", Workload: "oltp", Part: "wal \xff",
		Operations: []v1alpha1.OperationSummary{{
			Operation: "write", IOPS: estimate("1500", "1400", "1600"),
			Latency: &v1alpha1.LatencySummary{P50: metav1.Duration{Duration: time.Millisecond}, P99: metav1.Duration{Duration: 12 * time.Millisecond}, P999: metav1.Duration{Duration: time.Second}},
		}},
		Verdicts: []v1alpha1.VerdictSummary{{Name: "Throttled", Effect: "Qualifies"}, {Name: "Throttled", Effect: "Qualifies"}},
	}}
	gate := v1alpha1.GateStatus{Target: "fast", Node: "node-a", Workload: "oltp", Metric: "write.latency.p99", Limit: "at most 10ms", Outcome: "Missed"}
	b.Status.Gates = []v1alpha1.GateStatus{gate, gate}
	b.Status.Answer = &v1alpha1.AnswerStatus{Answer: "NotQualified"}
	b.Status.Baseline = &v1alpha1.BaselineStatus{Outcome: "Regression"}
	return b
}

func TestAScrapeHasWhatBenchmarksHaveMeasured(t *testing.T) {
	queued := v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "waits"}}
	queued.Status.Run = &v1alpha1.RunStatus{Current: &v1alpha1.CurrentWorker{Worker: "fast.node-b", Node: "node-b"}}
	queued.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Queued"}}
	w := World{
		Benchmarks: []v1alpha1.StorageBenchmark{measured("lab", "flush", 0), queued},
		Records:    []v1alpha1.NodeRestore{{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}, Status: v1alpha1.NodeRestoreStatus{Phase: v1alpha1.RestoreFailed}}},
		Stores: []v1alpha1.ResultStore{
			{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Status: v1alpha1.ResultStoreStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionFalse}}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "new"}},
		},
		Leases: []coordinationv1.Lease{
			{ObjectMeta: metav1.ObjectMeta{Name: "node-node-b"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("lab/other/u-1")}},
			{ObjectMeta: metav1.ObjectMeta{Name: "storagebench-manager"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("manager-5c7_0a1b")}},
		},
	}
	want := `
# HELP storagebench_benchmarks Benchmarks by state: Waiting, Running, Suspended, Stalled, Failed or Complete.
# TYPE storagebench_benchmarks gauge
storagebench_benchmarks{state="Complete"} 1
storagebench_benchmarks{state="Failed"} 0
storagebench_benchmarks{state="Running"} 0
storagebench_benchmarks{state="Stalled"} 0
storagebench_benchmarks{state="Suspended"} 0
storagebench_benchmarks{state="Waiting"} 1
# HELP storagebench_node_restore 1 for each node whose settings a benchmark may have changed, by phase: InUse while its worker runs, then Restoring, NodeAway or Failed; Gone and Abandoned are waited for by nobody.
# TYPE storagebench_node_restore gauge
storagebench_node_restore{node="node-a",phase="Failed"} 1
# HELP storagebench_restores_pending Nodes whose settings are still to be restored, after the worker that changed them has ended.
# TYPE storagebench_restores_pending gauge
storagebench_restores_pending 1
# HELP storagebench_queue_depth Benchmarks in the queue of a node that another one holds.
# TYPE storagebench_queue_depth gauge
storagebench_queue_depth{node="node-b"} 1
# HELP storagebench_node_held 1 for each node that a benchmark holds, so that no other measures there.
# TYPE storagebench_node_held gauge
storagebench_node_held{benchmark="other",namespace="lab",node="node-b"} 1
# HELP storagebench_store_available 1 if the ResultStore took an object when that was last tried, else 0.
# TYPE storagebench_store_available gauge
storagebench_store_available{store="default"} 0
# HELP storagebench_benchmark_state 1 for the state that a benchmark is in, with the reason of its condition Ready.
# TYPE storagebench_benchmark_state gauge
storagebench_benchmark_state{benchmark="flush",namespace="lab",reason="Finished",state="Complete"} 1
storagebench_benchmark_state{benchmark="waits",namespace="lab",reason="Queued",state="Waiting"} 1
# HELP storagebench_result Median over the trials of a row, in SI base units: I/Os, operations or bytes per second, or seconds for latencies.
# TYPE storagebench_result gauge
storagebench_result{benchmark="flush",metric="write.iops",namespace="lab",node="node-a",part="wal ?",target="fast",variant="",workload="oltp"} 1500
storagebench_result{benchmark="flush",metric="write.latency.p50",namespace="lab",node="node-a",part="wal ?",target="fast",variant="",workload="oltp"} 0.001
storagebench_result{benchmark="flush",metric="write.latency.p99",namespace="lab",node="node-a",part="wal ?",target="fast",variant="",workload="oltp"} 0.012
storagebench_result{benchmark="flush",metric="write.latency.p99.9",namespace="lab",node="node-a",part="wal ?",target="fast",variant="",workload="oltp"} 1
# HELP storagebench_result_low Lower end of the 95 % interval of storagebench_result; absent below 6 trials.
# TYPE storagebench_result_low gauge
storagebench_result_low{benchmark="flush",metric="write.iops",namespace="lab",node="node-a",part="wal ?",target="fast",variant="",workload="oltp"} 1400
# HELP storagebench_verdict 1 for each verdict on the numbers of a row: Invalidates, or Qualifies.
# TYPE storagebench_verdict gauge
storagebench_verdict{benchmark="flush",effect="Qualifies",namespace="lab",node="node-a",part="wal ?",target="fast",variant="",verdict="Throttled",workload="oltp"} 1
# HELP storagebench_gate 1 for the outcome of each gate of a run that has ended: Met, Missed or Inconclusive.
# TYPE storagebench_gate gauge
storagebench_gate{benchmark="flush",limit="at most 10ms",metric="write.latency.p99",namespace="lab",node="node-a",outcome="Missed",part="",target="fast",variant="",workload="oltp"} 1
# HELP storagebench_benchmark_answer 1 for what the last run of a benchmark answers: Qualified, NotQualified, Better, Worse, NoDifference, Inconclusive, Invalid, Regression or Measured.
# TYPE storagebench_benchmark_answer gauge
storagebench_benchmark_answer{answer="NotQualified",benchmark="flush",namespace="lab"} 1
# HELP storagebench_baseline 1 for what the comparison of a benchmark's last run with its baseline shows: NoWorse, Regression or Inconclusive.
# TYPE storagebench_baseline gauge
storagebench_baseline{benchmark="flush",namespace="lab",outcome="Regression"} 1
# HELP storagebench_trials_stored Trials of the present runs of all benchmarks that are stored.
# TYPE storagebench_trials_stored gauge
storagebench_trials_stored 6
# HELP storagebench_series_omitted Series of benchmarks that the operator leaves out, as there are more than it reports.
# TYPE storagebench_series_omitted gauge
storagebench_series_omitted 0
`
	err := testutil.CollectAndCompare(&Collector{Reader: cached{world: w}, Most: 100}, strings.NewReader(want),
		"storagebench_benchmarks", "storagebench_node_restore", "storagebench_restores_pending", "storagebench_queue_depth", "storagebench_node_held", "storagebench_store_available", "storagebench_benchmark_state",
		"storagebench_result", "storagebench_result_low", "storagebench_verdict", "storagebench_gate", "storagebench_benchmark_answer", "storagebench_baseline", "storagebench_trials_stored", "storagebench_series_omitted")
	if err != nil {
		t.Error(err)
	}
}

// A tenant with thousands of benchmarks does not push another one's out, and nothing exceeds the limit.
func TestALimitOfSeriesIsShared(t *testing.T) {
	w := World{Benchmarks: []v1alpha1.StorageBenchmark{measured("small", "one", 0)}}
	for i := range 500 {
		w.Benchmarks = append(w.Benchmarks, measured("large", fmt.Sprint("b", i), i+1))
	}
	const most = 60
	all := w.metrics(most)
	state := map[string]int{}
	results := 0
	for _, m := range all {
		if m.Desc() == descState {
			state[label(t, m, "namespace")+"/"+label(t, m, "benchmark")]++
		}
		if !slices.Contains([]*prometheus.Desc{descBenchmarks, descTrialsPlanned, descTrialsStored, descOmitted, descPending}, m.Desc()) {
			results++
		}
	}
	if results > most {
		t.Errorf("%d series, of at most %d", results, most)
	}
	if state["small/one"] != 1 || state["large/b499"] != 1 || state["large/b0"] != 0 {
		t.Errorf("the latest of each namespace come first; reported are %v", state)
	}
}

func TestTwoRowsOfOneNameDoNotCostTheScrape(t *testing.T) {
	b := measured("lab", "flush", 0)
	b.Status.Summary = append(b.Status.Summary, b.Status.Summary[0])
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(&Collector{Reader: cached{world: World{Benchmarks: []v1alpha1.StorageBenchmark{b}}}, Most: 100})
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}

func TestACacheThatFailsLeavesAGap(t *testing.T) {
	c := &Collector{Reader: cached{err: fmt.Errorf("the cache has not started")}, Most: 100}
	for scrapes := 1; scrapes <= 2; scrapes++ {
		want := fmt.Sprintf("# HELP storagebench_collect_errors_total Scrapes without series of benchmarks, because the operator's cache did not answer.\n"+
			"# TYPE storagebench_collect_errors_total counter\nstoragebench_collect_errors_total %d\n", scrapes)
		if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
			t.Errorf("a world that nobody has seen has series: %v", err)
		}
	}
}

func label(t *testing.T, m prometheus.Metric, name string) string {
	t.Helper()
	var written dto.Metric
	if err := m.Write(&written); err != nil {
		t.Fatal(err)
	}
	for _, l := range written.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
