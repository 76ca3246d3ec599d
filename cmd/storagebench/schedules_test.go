package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
)

func TestPrintSchedules(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	unseen := v1alpha1.StorageBenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "new", CreationTimestamp: metav1.NewTime(now)}}
	s := *unseen.DeepCopy()
	s.Name, s.Spec.Schedule = "nightly", "30 2 * * *"
	s.Status.LastScheduleTime = &metav1.Time{Time: now.Add(-8 * time.Hour)}
	s.Status.NextScheduleTime = &metav1.Time{Time: now.Add(time.Hour)}
	s.Status.LastRun = &v1alpha1.LastRun{Outcome: v1alpha1.RunComplete, Headline: "read 600 IOPS"}
	s.Status.Conditions = []metav1.Condition{{Type: "Ready", Reason: "Scheduled", Message: "at one"}, {Type: "Regressed", Status: metav1.ConditionTrue}}
	s.Status.Changes = []v1alpha1.Change{{
		SeriesKey: v1alpha1.SeriesKey{Target: "t", Workload: "w", Node: "a", Metric: "read.iops"}, State: v1alpha1.ChangeConfirmed, Direction: v1alpha1.ChangeWorse,
		Since: "nightly-7", From: resource.MustParse("1000"), To: resource.MustParse("600"), Percent: "-40.0%", Present: true, Differences: []string{"kernel: 6.1 -> 6.12"},
	}}
	for name, c := range map[string]struct {
		output string
		items  []v1alpha1.StorageBenchmarkSchedule
		single bool
		want   []string
	}{
		"table": {"table", []v1alpha1.StorageBenchmarkSchedule{s, unseen}, false, []string{"NAME", "nightly  Scheduled  30 2 * * *  8h", "Complete  True", "read 600 IOPS", "new      Pending"}},
		"one":   {"table", []v1alpha1.StorageBenchmarkSchedule{s}, true, []string{"nightly-7", "read.iops", "-40.0% 1k -> 600", "Confirmed Worse", "kernel: 6.1 -> 6.12"}},
		"wide":  {"wide", []v1alpha1.StorageBenchmarkSchedule{s}, false, []string{"2026-01-02T01:00:00Z  at one"}},
		"names": {"name", []v1alpha1.StorageBenchmarkSchedule{s}, false, []string{"storagebenchmarkschedule.storagebench.io/nightly"}},
		"yaml":  {"yaml", []v1alpha1.StorageBenchmarkSchedule{s}, true, []string{"kind: StorageBenchmarkSchedule", "percent: -40.0%"}},
		"json":  {"json", []v1alpha1.StorageBenchmarkSchedule{s}, false, []string{`"kind": "List"`}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := printSchedules(&out, c.output, c.items, c.single, false, now); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, out.String())
				}
			}
		})
	}
}
