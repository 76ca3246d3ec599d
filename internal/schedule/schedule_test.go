package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // machines without zones run this test too

	"github.com/google/go-cmp/cmp"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func made(t *testing.T, spec Spec) *Schedule {
	t.Helper()
	if spec.Zone == nil {
		spec.Zone = time.UTC
	}
	s, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		spec        Spec
		zone, after string
		want        []string
	}{
		"every day":              {spec: Spec{Cron: "30 2 * * *"}, after: "2026-01-01T00:00:00Z", want: []string{"2026-01-01T02:30:00Z", "2026-01-02T02:30:00Z"}},
		"in a zone":              {spec: Spec{Cron: "30 2 * * *"}, zone: "Asia/Tokyo", after: "2026-01-01T00:00:00Z", want: []string{"2026-01-01T17:30:00Z"}},
		"a time that is skipped": {spec: Spec{Cron: "30 2 * * *"}, zone: "Europe/Berlin", after: "2026-03-28T12:00:00Z", want: []string{"2026-03-30T00:30:00Z"}},
		"an hour that comes twice": {
			spec: Spec{Cron: "30 2 * * *"}, zone: "Europe/Berlin", after: "2026-10-24T12:00:00Z",
			want: []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		},
		"every hour, also when one comes twice": {
			spec: Spec{Cron: "30 * * * *"}, zone: "Europe/Berlin", after: "2026-10-24T23:45:00Z",
			want: []string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"},
		},
		"a quiet window": {
			spec: Spec{Cron: "0 */6 * * *", Quiet: []Window{ParseWindow("11:00", "13:00", nil)}}, after: "2026-01-01T00:00:00Z",
			want: []string{"2026-01-01T06:00:00Z", "2026-01-01T18:00:00Z"},
		},
		"a quiet night from Friday on": { // 2026-01-02 is a Friday
			spec: Spec{Cron: "0 */6 * * *", Quiet: []Window{ParseWindow("18:00", "06:00", []string{"Fri"})}}, after: "2026-01-02T12:00:00Z",
			want: []string{"2026-01-03T06:00:00Z", "2026-01-03T12:00:00Z", "2026-01-03T18:00:00Z", "2026-01-04T00:00:00Z"},
		},
		"the jitter decides whether it is quiet": {
			spec: Spec{Cron: "0 * * * *", Offset: 10 * time.Minute, Quiet: []Window{ParseWindow("01:00", "02:05", nil)}}, after: "2026-01-01T00:00:00Z",
			want: []string{"2026-01-01T02:00:00Z"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.zone != "" {
				c.spec.Zone = zone(t, c.zone)
			}
			s, next := made(t, c.spec), at(t, c.after)
			var got []string
			for range c.want {
				next, _ = s.Next(next)
				got = append(got, next.UTC().Format(time.RFC3339))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatGivesNoTimesSaysWhichFieldAndWhatToDo(t *testing.T) {
	always := []Window{ParseWindow("00:00", "24:00", nil)}
	for name, c := range map[string]struct {
		spec Spec
		want []string
	}{
		"too few fields":     {Spec{Cron: "* *"}, []string{"spec.schedule", "write minute, hour"}},
		"a zone":             {Spec{Cron: "TZ=UTC * * * * *"}, []string{"spec.schedule", "spec.timeZone"}},
		"one that panics":    {Spec{Cron: "TZ=0"}, []string{"spec.schedule"}},
		"every":              {Spec{Cron: "@every 30s"}, []string{"spec.schedule", "@every"}},
		"a day that is none": {Spec{Cron: "0 0 30 2 *"}, []string{"spec.schedule", "five years", "a day that exists"}},
		"always quiet":       {Spec{Cron: "* * * * *", Quiet: always}, []string{"spec.quietWindows", "shorten them"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.Zone = time.UTC
			s, err := New(c.spec)
			if err == nil {
				err = s.Check(at(t, "2026-01-01T00:00:00Z"))
			}
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("the error is %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}

func TestDue(t *testing.T) {
	for name, c := range map[string]struct {
		spec       Spec
		after, now string
		want       string
		count      int
	}{
		"nothing yet":              {spec: Spec{Cron: "0 * * * *"}, after: "2026-01-01T00:00:00Z", now: "2026-01-01T00:59:59Z"},
		"now":                      {spec: Spec{Cron: "0 * * * *"}, after: "2026-01-01T00:00:00Z", now: "2026-01-01T01:00:00Z", want: "2026-01-01T01:00:00Z", count: 1},
		"the jitter is not over":   {spec: Spec{Cron: "0 * * * *", Offset: time.Minute}, after: "2026-01-01T00:00:00Z", now: "2026-01-01T01:00:59Z"},
		"three, and the last":      {spec: Spec{Cron: "0 * * * *"}, after: "2026-01-01T00:00:00Z", now: "2026-01-01T03:30:00Z", want: "2026-01-01T03:00:00Z", count: 3},
		"too many, and the last":   {spec: Spec{Cron: "* * * * *"}, after: "2020-01-01T00:00:00Z", now: "2026-01-01T03:30:30Z", want: "2026-01-01T03:30:00Z", count: 101},
		"many in January only":     {spec: Spec{Cron: "*/5 * * 1 *"}, after: "2020-01-01T00:00:00Z", now: "2026-12-01T00:00:00Z", want: "2026-01-31T23:55:00Z", count: 101},
		"the clock went backwards": {spec: Spec{Cron: "0 * * * *"}, after: "2026-01-02T00:00:00Z", now: "2026-01-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			due, ok := made(t, c.spec).Due(at(t, c.after), at(t, c.now))
			got := ""
			if ok {
				got = due.Time.UTC().Format(time.RFC3339)
			}
			if got != c.want || due.Count != c.count {
				t.Errorf("%q of %d, want %q of %d", got, due.Count, c.want, c.count)
			}
		})
	}
}

func TestQuietUntil(t *testing.T) {
	s := made(t, Spec{Cron: "* * * * *", Quiet: []Window{ParseWindow("22:00", "06:00", nil), ParseWindow("05:30", "07:15", []string{"Fri"})}})
	for from, want := range map[string]string{
		"2026-01-01T12:00:00Z": "2026-01-01T12:00:00Z",
		"2026-01-02T23:10:30Z": "2026-01-03T06:00:00Z", // Friday
		"2026-01-01T23:10:30Z": "2026-01-02T07:15:00Z",
	} {
		if got := s.QuietUntil(at(t, from)).Format(time.RFC3339); got != want {
			t.Errorf("from %s until %s, want %s", from, got, want)
		}
	}
}

func TestOffsetIsOneForEachAndSpreads(t *testing.T) {
	seen := map[time.Duration]bool{}
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		o := Offset(id, time.Hour)
		if o != Offset(id, time.Hour) || o < 0 || o > time.Hour {
			t.Errorf("%s: %s, then %s", id, o, Offset(id, time.Hour))
		}
		seen[o] = true
	}
	if len(seen) < 5 || Offset("a", 0) != 0 {
		t.Errorf("six schedules start at %d different times; without jitter at %s", len(seen), Offset("a", 0))
	}
}
