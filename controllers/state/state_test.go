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

func TestAJobIsOverdueLongAfterItsDeadline(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	job := func(deadline *int64, started *metav1.Time) *batchv1.Job {
		return &batchv1.Job{Spec: batchv1.JobSpec{ActiveDeadlineSeconds: deadline}, Status: batchv1.JobStatus{StartTime: started}}
	}
	at := new(metav1.NewTime(start))
	for name, c := range map[string]struct {
		job   *batchv1.Job
		after time.Duration
		want  bool
	}{
		"its controller may be slow": {job(new(int64(60)), at), time.Minute + overdueGrace, false},
		"nobody has ended it":        {job(new(int64(60)), at), time.Minute + overdueGrace + time.Second, true},
		"it has no deadline":         {job(nil, at), time.Hour, false},
		"it has not begun":           {job(new(int64(60)), nil), time.Hour, false},
	} {
		if got := Overdue(c.job, start.Add(c.after)); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
