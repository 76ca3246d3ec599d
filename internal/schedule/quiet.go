package schedule

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Window is a time of the day at which no run starts.
type Window struct {
	// From and To are minutes of the day. If To is not after From, it is on the next day.
	From, To int
	// Days on which the window begins; none: every day.
	Days []time.Weekday
}

// ParseWindow reads a window from HH:MM and the beginnings of days' names, as the API's schema has them.
func ParseWindow(from, to string, days []string) Window {
	w := Window{From: minutes(from), To: minutes(to)}
	for day := time.Sunday; day <= time.Saturday; day++ {
		if slices.Contains(days, day.String()[:3]) {
			w.Days = append(w.Days, day)
		}
	}
	return w
}

func minutes(clock string) int {
	hour, minute, _ := strings.Cut(clock, ":")
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	return h*60 + m
}

// contains reports whether a window contains a time of the wall's clock.
func (w Window) contains(local time.Time) bool {
	minute, today := local.Hour()*60+local.Minute(), local.Weekday()
	on := func(day time.Weekday) bool { return len(w.Days) == 0 || slices.Contains(w.Days, day) }
	if w.From < w.To {
		return on(today) && w.From <= minute && minute < w.To
	}
	yesterday := (today + 6) % 7
	return on(today) && w.From <= minute || on(yesterday) && minute < w.To
}

// Quiet reports whether no run may start at a time.
func (s *Schedule) Quiet(at time.Time) bool {
	local := at.In(s.spec.Zone)
	return slices.ContainsFunc(s.spec.Quiet, func(w Window) bool { return w.contains(local) })
}

// QuietUntil returns the end of the quiet windows that a time is in; at itself if it is in none, or
// if they have no end.
func (s *Schedule) QuietUntil(at time.Time) time.Time {
	until := at
	for range maxSteps {
		if !s.Quiet(until) {
			return until
		}
		until = until.Truncate(time.Minute).Add(time.Minute)
	}
	return at
}
