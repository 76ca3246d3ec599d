package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// A run that has ended is not ready while a Job looks after the settings that it changed, which says nothing
// about what was measured.
func TestARunIsJudgedByWhatItMeasuredAndLeftBehind(t *testing.T) {
	yes, no := metav1.ConditionTrue, metav1.ConditionFalse
	condition := func(of string, status metav1.ConditionStatus, why, message string) metav1.Condition {
		return metav1.Condition{Type: of, Status: status, Reason: why, Message: message}
	}
	complete := condition(v1alpha1.ConditionComplete, yes, reason.Finished, "")
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		goesOn     bool
		restoring  bool
		want       string
	}{
		"it measures":         {conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, no, reason.Running, "")}, goesOn: true},
		"it is over":          {conditions: []metav1.Condition{complete, condition(v1alpha1.ConditionReady, yes, reason.Finished, "")}},
		"a Job looks after":   {conditions: []metav1.Condition{complete, condition(v1alpha1.ConditionReady, no, reason.Restoring, "a Job")}, restoring: true},
		"it failed":           {conditions: []metav1.Condition{condition(v1alpha1.ConditionFailed, yes, reason.TimedOut, ""), condition(v1alpha1.ConditionReady, no, reason.TimedOut, "")}, want: "b did not measure everything"},
		"failed and restores": {conditions: []metav1.Condition{condition(v1alpha1.ConditionFailed, yes, reason.TimedOut, ""), condition(v1alpha1.ConditionReady, no, reason.Restoring, "a Job")}, restoring: true, want: "b did not measure everything"},
		"its node is away":    {conditions: []metav1.Condition{complete, condition(v1alpha1.ConditionReady, no, reason.NodeAway, "the run has ended; settings will be restored when"), condition(v1alpha1.ConditionTunablesRestored, no, reason.NodeAway, "settings will be restored when")}, want: "b measured everything, but settings will be restored when"},
		"a setting is left":   {conditions: []metav1.Condition{complete, condition(v1alpha1.ConditionReady, no, reason.TunablesNotRestored, "settings could not be restored")}, want: "b measured everything, but settings could not be restored"},
	} {
		b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Status: v1alpha1.StorageBenchmarkStatus{Conditions: c.conditions, Run: &v1alpha1.RunStatus{}}}
		if !c.goesOn {
			b.Status.Run.FinishedAt = new(metav1.Now())
		}
		err := worth(b)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if got := beingRestored(b); got != c.restoring {
			t.Errorf("%s: being restored is %t", name, got)
		}
	}
}

func TestOneThatIsDeletedDoesNotLookAsIfItRan(t *testing.T) {
	now := metav1.Now()
	b := &v1alpha1.StorageBenchmark{}
	b.DeletionTimestamp, b.Generation, b.Status.ObservedGeneration = &now, 2, 1
	for why, want := range map[string]string{
		reason.Running:  "Deleting: the operator has not begun",
		reason.Deleting: "Deleting: waiting for Job b",
	} {
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: why, Message: "waiting for Job b"}}
		if why == reason.Deleting {
			b.Status.ObservedGeneration = 2
		}
		if got := stateLine(b); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", why, got, want)
		}
		b.Status.ObservedGeneration = 1
	}
}
