package state

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNewest(t *testing.T) {
	if got := Newest(nil); got != nil {
		t.Errorf("of none: %s", got.Name)
	}
	pod := func(name string, minute int) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(60*minute), 0))}}
	}
	if got := Newest([]corev1.Pod{pod("first", 1), pod("last", 3), pod("second", 2)}); got.Name != "last" {
		t.Errorf("got %s", got.Name)
	}
}

func TestJobEnded(t *testing.T) {
	for name, c := range map[string]struct {
		conditions []batchv1.JobCondition
		want       batchv1.JobConditionType
	}{
		"without conditions it has not":         {nil, ""},
		"a target is not the end":               {[]batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}}, ""},
		"a condition must be True":              {[]batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionFalse}}, ""},
		"it has completed":                      {[]batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}, batchv1.JobComplete},
		"it has failed, after what it aimed at": {[]batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}, {Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}, batchv1.JobFailed},
	} {
		t.Run(name, func(t *testing.T) {
			if got := JobEnded(&batchv1.Job{Status: batchv1.JobStatus{Conditions: c.conditions}}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
