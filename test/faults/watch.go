package faults

import (
	"context"
	"sync"
	"time"
)

// WedgedAfter is how long after a fault a benchmark may be silent, and betweenStates how much
// longer one that is silent just then, because it passes from one state to the next.
const (
	WedgedAfter   = time.Minute
	betweenStates = 5 * time.Second
)

// End is how a benchmark has ended.
type End int

// Ways to end: a benchmark that has finished or failed can still be deleted, and is Gone then.
const (
	Underway End = iota
	Finished
	Gone
)

// Look returns why a benchmark would be wedged, if it stayed as it is, and how it has ended.
type Look func(context.Context) (why string, ended End)

// Watch is a benchmark that has met a fault, from the fault's end until it is judged. What it
// says before that does not count: it may have said so before the fault.
type Watch struct {
	look     Look
	every    time.Duration
	testOver chan struct{}
	verdict  chan string

	lock     sync.Mutex
	deadline time.Time
	judged   bool
}

// NewWatch begins to look at a benchmark in the background. Verdict ends it.
func NewWatch(ctx context.Context, every time.Duration, look Look) *Watch {
	w := &Watch{look: look, every: every, testOver: make(chan struct{}), verdict: make(chan string, 1), deadline: time.Now().Add(WedgedAfter)}
	go func() { w.verdict <- w.judge(ctx) }()
	return w
}

// Again begins the minute anew, after a later fault. It reports whether it could: one that is
// judged already needs another watch.
func (w *Watch) Again() bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.deadline = time.Now().Add(WedgedAfter)
	return !w.judged
}

// Verdict returns why the benchmark is wedged, or the empty string. It waits until that is
// known, but not for a benchmark that has ended. A test calls it once, at its end.
func (w *Watch) Verdict() string {
	close(w.testOver)
	return <-w.verdict
}

func (w *Watch) judge(ctx context.Context) string {
	over, testOver := false, w.testOver
	for {
		why, ended := w.look(ctx)
		if ended == Gone || ended == Finished && over {
			return ""
		}
		if w.passed(why) {
			return why
		}
		select {
		case <-ctx.Done():
			return "it was not judged: " + ctx.Err().Error()
		case <-testOver:
			over, testOver = true, nil
		case <-time.After(w.every):
		}
	}
}

// passed reports whether what was seen just now is the verdict.
func (w *Watch) passed(why string) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	since := time.Since(w.deadline)
	w.judged = since >= betweenStates || since >= 0 && why == ""
	return w.judged
}
