package timetable

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/schedule"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) // a Monday

func TestTimesHaveTheZoneTheJitterAndTheQuietWindowsOfTheSpec(t *testing.T) {
	s := v1alpha1.StorageBenchmarkScheduleSpec{
		Schedule: "30 2 * * *", TimeZone: "Europe/Berlin", Jitter: &metav1.Duration{Duration: 20 * time.Minute},
		QuietWindows: []v1alpha1.QuietWindow{{From: "02:00", To: "04:00", Days: []string{"Tue"}}},
	}
	times, err := Of(s, "u", now)
	if err != nil {
		t.Fatal(err)
	}
	next, ok := times.Next(now)
	if want := time.Date(2026, 3, 4, 1, 30, 0, 0, time.UTC); !ok || !next.Equal(want) {
		t.Errorf("the next time is %s, want %s, as Tuesday is quiet", next, want)
	}
	if late := times.Start(next).Sub(next); late <= 0 || late > 20*time.Minute {
		t.Errorf("it starts %s late", late)
	}
}

func TestWhatGivesNoTimesNamesItsField(t *testing.T) {
	for field, s := range map[string]v1alpha1.StorageBenchmarkScheduleSpec{
		"spec.timeZone": {Schedule: "@daily", TimeZone: "Europe/Berln"},
		"spec.schedule": {Schedule: "30 25 * * *"},
		"spec.quietWindows": {Schedule: "30 2 * * 2", QuietWindows: []v1alpha1.QuietWindow{
			{From: "02:00", To: "04:00", Days: []string{"Tue"}},
		}},
	} {
		_, err := Of(s, "", now)
		if wrong, ok := errors.AsType[*schedule.Error](err); !ok || wrong.Field != field || wrong.Remedy == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
}
