package faults

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// What a benchmark says counts a minute after the fault, neither earlier nor much later.
func TestABenchmarkIsJudgedAMinuteAfterItsFault(t *testing.T) {
	const silent = "it says nothing"
	for name, c := range map[string]struct {
		// look is what is seen so long after the fault.
		look func(since time.Duration) (string, End)
		// again is when another fault comes, and over when the test ends.
		again, over time.Duration
		want        string
		// judged is when.
		judged time.Duration
	}{
		"it speaks at first, and is silent from then on": {
			look: func(since time.Duration) (string, End) { return silentFrom(since, 10*time.Second), Underway },
			want: silent, judged: 65 * time.Second,
		},
		"it is silent at first, and speaks after half a minute": {
			look: func(since time.Duration) (string, End) { return silentUntil(since, 30*time.Second), Underway }, judged: time.Minute,
		},
		"it is between two states when the minute is over": {
			look: func(since time.Duration) (string, End) { return silentUntil(since, 62*time.Second), Underway }, judged: 62 * time.Second,
		},
		"another fault comes, and it speaks a minute after that": {
			look:  func(since time.Duration) (string, End) { return silentUntil(since, 90*time.Second), Underway },
			again: 40 * time.Second, judged: 100 * time.Second,
		},
		"another fault comes, and it is silent ever after": {
			look:  func(since time.Duration) (string, End) { return silentFrom(since, 70*time.Second), Underway },
			again: 40 * time.Second, want: silent, judged: 105 * time.Second,
		},
		"it is gone": {
			look: func(since time.Duration) (string, End) {
				if since >= 20*time.Second {
					return "", Gone
				}
				return silent, Underway
			}, judged: 20 * time.Second,
		},
		"it has ended when the test is over": {
			look: func(time.Duration) (string, End) { return "", Finished }, over: 15 * time.Second, judged: 15 * time.Second,
		},
		"it is silent when the test is over": {
			look: func(time.Duration) (string, End) { return silent, Underway }, over: 15 * time.Second, want: silent, judged: 65 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var last time.Duration
				w := NewWatch(t.Context(), time.Second, func(context.Context) (string, End) {
					last = time.Since(begin)
					return c.look(last)
				})
				if c.again > 0 {
					time.Sleep(c.again)
					if !w.Again() {
						t.Error("it was judged before the second fault")
					}
				}
				if c.over == 0 {
					c.over = 5 * time.Minute
				}
				time.Sleep(c.over - time.Since(begin))
				if got := w.Verdict(); got != c.want {
					t.Errorf("the verdict is %q, want %q", got, c.want)
				}
				if last != c.judged {
					t.Errorf("it was judged after %s, want %s", last, c.judged)
				}
			})
		})
	}
}

// A fault that comes when the benchmark has been judged needs a watch of its own.
func TestAJudgedBenchmarkNeedsAnotherWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch(t.Context(), time.Second, func(context.Context) (string, End) { return "", Underway })
		time.Sleep(2 * WedgedAfter)
		if w.Again() {
			t.Error("the watch of a benchmark that is judged took another fault")
		}
		if why := w.Verdict(); why != "" {
			t.Error(why)
		}
	})
}

func silentFrom(since, from time.Duration) string {
	if since >= from {
		return "it says nothing"
	}
	return ""
}

func silentUntil(since, until time.Duration) string {
	if since < until {
		return "it says nothing"
	}
	return ""
}
