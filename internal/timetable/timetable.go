package timetable

import (
	"fmt"
	"time"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/schedule"
)

// Of returns the times of a schedule. Its jitter follows from identity, which is the schedule's UID. The error
// is a *schedule.Error, also if no time comes after now.
func Of(s v1alpha1.StorageBenchmarkScheduleSpec, identity string, now time.Time) (*schedule.Schedule, error) {
	zone, err := time.LoadLocation(s.TimeZone) // "" is UTC
	if err != nil {
		return nil, &schedule.Error{
			Field: "spec.timeZone", Problem: fmt.Sprintf("there is no time zone %q", s.TimeZone), Remedy: "write a name of the IANA database, such as Europe/Berlin",
		}
	}
	spec := schedule.Spec{Cron: s.Schedule, Zone: zone}
	if s.Jitter != nil {
		spec.Offset = schedule.Offset(identity, s.Jitter.Duration)
	}
	for _, w := range s.QuietWindows {
		spec.Quiet = append(spec.Quiet, schedule.ParseWindow(w.From, w.To, w.Days))
	}
	times, err := schedule.New(spec)
	if err == nil {
		err = times.Check(now)
	}
	return times, err
}
