//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// schedule is one of the lab whose benchmarks have one workload and two trials. It makes no run in the
// time of a test, unless change says otherwise.
func (l *lab) schedule(name string, change func(*v1alpha1.StorageBenchmarkSchedule)) *v1alpha1.StorageBenchmarkSchedule {
	s := &v1alpha1.StorageBenchmarkSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
		Spec: v1alpha1.StorageBenchmarkScheduleSpec{
			Schedule: "0 0 29 2 *",
			Template: v1alpha1.BenchmarkTemplate{Spec: v1alpha1.StorageBenchmarkSpec{
				Targets:   []v1alpha1.Target{{Name: "t", StorageClass: &v1alpha1.StorageClassTarget{Name: "fast"}}},
				Placement: v1alpha1.Placement{NodeSelector: map[string]string{"lab": l.namespace}, Nodes: new(intstr.FromInt32(1))},
				Workloads: []v1alpha1.Workload{{Name: "w", Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(map[string]string{"rw": "randread"})}}},
				Trials:    v1alpha1.Trials{Min: 2},
				Baseline:  &v1alpha1.Baseline{},
				Results:   &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: "default"}},
			}},
		},
	}
	change(s)
	return s
}

// condition of a schedule, of its present generation; nil: not there.
func (l *lab) condition(s *v1alpha1.StorageBenchmarkSchedule, kind string) *metav1.Condition {
	if err := api.Get(l.ctx, client.ObjectKeyFromObject(s), s); err != nil {
		l.t.Fatal(err)
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, kind); c != nil && c.ObservedGeneration == s.Generation {
		return c
	}
	return nil
}

func TestAScheduleRunsAndRecords(t *testing.T) {
	l := newLab(t, 1)
	s := l.schedule("every-minute", func(s *v1alpha1.StorageBenchmarkSchedule) { s.Spec.Schedule = "* * * * *" })
	if err := api.Create(l.ctx, s); err != nil {
		t.Fatal(err)
	}
	list := &v1alpha1.StorageBenchmarkList{}
	l.eventually("the first benchmark is made", func() error {
		err := api.List(l.ctx, list, client.InNamespace(l.namespace), client.MatchingLabels{v1alpha1.LabelSchedule: s.Name})
		if err == nil && len(list.Items) == 0 {
			err = fmt.Errorf("there is none: %+v", l.condition(s, v1alpha1.ConditionReady))
		}
		return err
	})
	b := &list.Items[0]
	if !metav1.IsControlledBy(b, s) || !strings.HasPrefix(b.Name, s.Name+"-") {
		t.Errorf("benchmark %s belongs to %+v", b.Name, b.OwnerReferences)
	}
	l.eventually("it can be suspended", func() error { l.condition(s, ""); s.Spec.Suspend = true; return api.Update(l.ctx, s) })
	l.finish(b, well)
	l.eventually("the run is recorded", func() error {
		if l.condition(s, v1alpha1.ConditionReady); s.Status.LastRun == nil {
			return fmt.Errorf("status %+v", s.Status)
		}
		return nil
	})
	if s.Status.LastRun.Benchmark != b.Name || s.Status.LastRun.Outcome != v1alpha1.RunComplete || s.Status.LatestQualified == nil || len(s.Status.Series) != 1 {
		t.Errorf("status %+v", s.Status)
	}
	l.eventually("it is suspended", func() error {
		if c := l.condition(s, v1alpha1.ConditionSuspended); c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Errorf("conditions %+v", s.Status.Conditions)
		}
		return nil
	})
	if err := api.Delete(l.ctx, s); err != nil {
		t.Fatal(err)
	}
}

func TestASchedulesMistakesAreNamed(t *testing.T) {
	l := newLab(t, 1)
	for name, c := range map[string]struct {
		change func(*v1alpha1.StorageBenchmarkSchedule)
		words  string
	}{
		"a zone in the schedule": {func(s *v1alpha1.StorageBenchmarkSchedule) { s.Spec.Schedule = "TZ=UTC * * * * *" }, "set spec.timeZone"},
		"every":                  {func(s *v1alpha1.StorageBenchmarkSchedule) { s.Spec.Schedule = "@every 90s" }, "write the five fields of cron"},
		"the local zone":         {func(s *v1alpha1.StorageBenchmarkSchedule) { s.Spec.TimeZone = "Local" }, "name the zone"},
		"an empty window": {func(s *v1alpha1.StorageBenchmarkSchedule) {
			s.Spec.QuietWindows = []v1alpha1.QuietWindow{{From: "08:00", To: "08:00"}}
		}, "must end at another time than it begins"},
		"a label of ours": {func(s *v1alpha1.StorageBenchmarkSchedule) {
			s.Spec.Template.Metadata.Labels = map[string]string{"storagebench.io/schedule": "x"}
		}, "does not begin with storagebench.io/"},
		"a long name": {func(s *v1alpha1.StorageBenchmarkSchedule) { s.Name = strings.Repeat("n", 44) }, "not be longer than 43"},
		"a baseline of another benchmark without its run": {func(s *v1alpha1.StorageBenchmarkSchedule) {
			s.Spec.Template.Spec.Baseline = &v1alpha1.Baseline{Benchmark: "other"}
		}, "set baseline.from to the ID of its run"},
	} {
		if err := api.Create(l.ctx, l.schedule("mistaken", c.change), client.DryRunAll); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v does not say %q", name, err, c.words)
		}
	}
	for why, c := range map[string]struct {
		change func(*v1alpha1.StorageBenchmarkSchedule)
		kind   string
		words  string
	}{
		reason.InvalidSchedule: {func(s *v1alpha1.StorageBenchmarkSchedule) { s.Spec.Schedule = "0 0 30 2 *" }, v1alpha1.ConditionStalled, "write a day that exists"},
		reason.InvalidAcknowledgement: {func(s *v1alpha1.StorageBenchmarkSchedule) {
			s.Annotations = map[string]string{v1alpha1.AnnotationAcknowledge: "all of it"}
		}, v1alpha1.ConditionRegressed, "write names of benchmarks"},
	} {
		s := l.schedule(strings.ToLower(why), c.change)
		if err := api.Create(l.ctx, s); err != nil {
			t.Fatal(err)
		}
		l.eventually(why, func() error {
			if is := l.condition(s, c.kind); is == nil || is.Reason != why || !strings.Contains(is.Message, c.words) {
				return fmt.Errorf("%s is %+v", c.kind, is)
			}
			return nil
		})
		if err := api.Delete(l.ctx, s); err != nil {
			t.Fatal(err)
		}
	}
}
