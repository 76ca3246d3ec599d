package schedule

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Spec is what a schedule is made from.
type Spec struct {
	// Cron has five fields, or is @daily or the like.
	Cron string
	// Zone in which Cron and Quiet are read.
	Zone *time.Location
	// Offset is how much later than its time a run starts.
	Offset time.Duration
	Quiet  []Window
}

// Error says what is wrong with a field.
type Error struct{ Field, Problem, Remedy string }

// Error is one sentence.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s; %s", e.Field, e.Problem, e.Remedy) }

// Schedule knows the times.
type Schedule struct {
	spec   Spec
	cron   cron.Schedule
	hourly bool
}

// maxSteps bounds the search for a time outside the quiet windows: more than the minutes of a week, so
// that one that is free is found.
const maxSteps = 7*24*60 + 1

// New returns the schedule. Its error is an *Error.
func New(spec Spec) (*Schedule, error) {
	parsed, err := parse(spec.Cron)
	if err != nil {
		return nil, &Error{
			"spec.schedule", fmt.Sprintf("%q is no cron expression: %v", spec.Cron, err),
			`write minute, hour, day of month, month and day of week, such as "30 2 * * *"`,
		}
	}
	parsed.Location = spec.Zone
	fields := strings.Fields(spec.Cron)
	return &Schedule{spec: spec, cron: parsed, hourly: len(fields) == 5 && strings.HasPrefix(fields[1], "*") || spec.Cron == "@hourly"}, nil
}

// parse parses an expression. The parser panics at some that are wrong.
func parse(expression string) (s *cron.SpecSchedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be parsed")
		}
	}()
	if strings.Contains(expression, "TZ=") {
		return nil, fmt.Errorf("it has a time zone, which belongs in spec.timeZone")
	}
	parsed, err := cron.ParseStandard(expression)
	if err != nil {
		return nil, err
	}
	s, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("@every has no times of the day")
	}
	return s, nil
}

// Next returns the first time after another one; false: there is none in the next five years.
func (s *Schedule) Next(after time.Time) (time.Time, bool) {
	for range maxSteps {
		next := s.cron.Next(after)
		if next.IsZero() {
			return time.Time{}, false
		}
		if !s.repeated(next) && !s.Quiet(s.Start(next)) {
			return next, true
		}
		after = next
	}
	return time.Time{}, false
}

// repeated reports whether the clock on the wall showed this time an hour ago too, and the run of
// then was enough.
func (s *Schedule) repeated(at time.Time) bool {
	if s.hourly {
		return false
	}
	before := at.Add(-time.Hour).In(s.spec.Zone)
	at = at.In(s.spec.Zone)
	return before.Hour() == at.Hour() && before.Minute() == at.Minute() && before.Day() == at.Day()
}

// Check returns an *Error if there are no times.
func (s *Schedule) Check(now time.Time) error {
	if s.cron.Next(now).IsZero() {
		return &Error{"spec.schedule", fmt.Sprintf("%q gives no time in the next five years", s.spec.Cron), "write a day that exists"}
	}
	if _, ok := s.Next(now); !ok {
		return &Error{"spec.quietWindows", "they leave no time of spec.schedule at which a run could start", "shorten them, or choose other times"}
	}
	return nil
}

// Start returns when the run of a time starts.
func (s *Schedule) Start(at time.Time) time.Time { return at.Add(s.spec.Offset) }

// Of returns the time whose run starts at a given one.
func (s *Schedule) Of(start time.Time) time.Time { return start.Add(-s.spec.Offset) }

// ManyMissed is the number of missed times above which they are no longer counted.
const ManyMissed = 100

// Due is a time whose run should have started.
type Due struct {
	Time time.Time
	// Count is how many such times there are, of which Time is the last; above ManyMissed it is no
	// longer exact.
	Count int
}

// Due returns the last time after another one whose start is not in the future; false: there is none.
func (s *Schedule) Due(after, now time.Time) (Due, bool) {
	due := Due{}
	at := after
	for due.Count <= ManyMissed {
		next, ok := s.Next(at)
		if !ok || s.Start(next).After(now) {
			return due, due.Count > 0
		}
		due.Time, at = next, next
		due.Count++
	}
	due.Time = s.last(due.Time, now)
	return due, true
}

// last returns the last time that has started by now, knowing an earlier one. It looks back further and
// further, so that it need not go through all times.
func (s *Schedule) last(known, now time.Time) time.Time {
	for back := time.Hour; back < now.Sub(known); back *= 2 {
		from := s.Of(now).Add(-back)
		if next, ok := s.Next(from); ok && !s.Start(next).After(now) {
			known = next
			break
		}
	}
	for {
		next, ok := s.Next(known)
		if !ok || s.Start(next).After(now) {
			return known
		}
		known = next
	}
}

// Offset draws the delay of a schedule from 0 to jitter, in whole seconds: the same for one identity
// whenever it is asked.
func Offset(identity string, jitter time.Duration) time.Duration {
	seconds := uint64(max(jitter, 0) / time.Second)
	if seconds == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(identity))
	return time.Duration(h.Sum64()%(seconds+1)) * time.Second
}
