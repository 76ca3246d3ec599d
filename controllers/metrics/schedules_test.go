package metrics

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
)

func change(workload string, state v1alpha1.ChangeState, from, to string) v1alpha1.Change {
	return v1alpha1.Change{
		SeriesKey: v1alpha1.SeriesKey{Target: "fast", Node: "node-a", Workload: workload, Metric: "write.iops"},
		State:     state, Direction: v1alpha1.ChangeWorse, From: resource.MustParse(from), To: resource.MustParse(to), Present: true,
	}
}

func schedule(namespace, name string) v1alpha1.StorageBenchmarkSchedule {
	last, next := metav1.NewTime(noon), metav1.NewTime(noon.Add(time.Minute))
	s := v1alpha1.StorageBenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s.Status.LastScheduleTime, s.Status.NextScheduleTime = &last, &next
	s.Status.Missed, s.Status.Succeeded, s.Status.Failed, s.Status.Active = 2, 7, 1, []string{"nightly-1"}
	s.Status.LastRun = &v1alpha1.LastRun{Outcome: v1alpha1.RunFailed}
	gone, known := change("gone", v1alpha1.ChangeConfirmed, "10", "5"), change("known", v1alpha1.ChangeConfirmed, "10", "5")
	gone.Present, known.Acknowledged = false, true
	s.Status.Changes = []v1alpha1.Change{
		change("oltp", v1alpha1.ChangeConfirmed, "1k", "800"), change("oltp", v1alpha1.ChangeSuspected, "1", "2"), gone, known,
		change("scan", v1alpha1.ChangeSuspected, "0", "1"),
	}
	return s
}

func TestAScrapeHasTheStateOfSchedules(t *testing.T) {
	halted := v1alpha1.StorageBenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "halted"}}
	halted.Spec.Suspend = true
	halted.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue}}
	got := map[*prometheus.Desc][]string{}
	for _, m := range (World{Schedules: []v1alpha1.StorageBenchmarkSchedule{schedule("lab", "nightly"), halted}}).metrics(200) {
		got[m.Desc()] = append(got[m.Desc()], line(t, m))
	}
	const row = ` metric=write.iops namespace=lab node=node-a part= schedule=nightly state=`
	for d, want := range map[*prometheus.Desc][]string{
		descLastTime:  {"namespace=lab schedule=nightly 1767268800"},
		descNextTime:  {"namespace=lab schedule=nightly 1767268860"},
		descSuspended: {"namespace=lab schedule=nightly 0", "namespace=lab schedule=halted 1"},
		descStalled:   {"namespace=lab schedule=nightly 0", "namespace=lab schedule=halted 1"},
		descActive:    {"namespace=lab schedule=nightly 1", "namespace=lab schedule=halted 0"},
		descMissed:    {"namespace=lab schedule=nightly 2", "namespace=lab schedule=halted 0"},
		descLastRun:   {"namespace=lab outcome=Failed schedule=nightly 1"},
		descRuns: {
			"namespace=lab outcome=Complete schedule=nightly 7", "namespace=lab outcome=Failed schedule=nightly 1",
			"namespace=lab outcome=Complete schedule=halted 0", "namespace=lab outcome=Failed schedule=halted 0",
		},
		descChange: {
			"direction=Worse" + row + "Confirmed target=fast variant= workload=oltp -0.2",
			"direction=Worse" + row + "Suspected target=fast variant= workload=scan 0",
		},
	} {
		if diff := cmp.Diff(want, got[d]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d, diff)
		}
	}
}

// line is a metric's labels, in the order of their names, and its value.
func line(t *testing.T, m prometheus.Metric) string {
	t.Helper()
	var written dto.Metric
	if err := m.Write(&written); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, l := range written.Label {
		fmt.Fprintf(&out, "%s=%s ", l.GetName(), l.GetValue())
	}
	value := written.GetGauge().GetValue() + written.GetCounter().GetValue()
	return out.String() + strconv.FormatFloat(math.Round(value*1e6)/1e6, 'f', -1, 64)
}

func TestManySchedulesLeaveRoomForBenchmarks(t *testing.T) {
	w := World{Benchmarks: []v1alpha1.StorageBenchmark{measured("small", "one", 0)}}
	for i := range 100 {
		w.Schedules = append(w.Schedules, schedule("large", fmt.Sprint("s", i)))
	}
	w.Schedules = append(w.Schedules, schedule("small", "s"))
	schedules, benchmarks := map[string]bool{}, 0
	for _, m := range w.metrics(100) {
		switch m.Desc() {
		case descSuspended:
			schedules[label(t, m, "namespace")+"/"+label(t, m, "schedule")] = true
		case descState:
			benchmarks++
		}
	}
	if benchmarks != 1 || len(schedules) != 2 || !schedules["small/s"] {
		t.Errorf("%d benchmarks, and the schedules %v", benchmarks, schedules)
	}
}
