package native

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Arrivals is how the operations of an open loop are spread over time.
type Arrivals string

const (
	// Poisson arrivals are independent of each other, as those of many users are.
	Poisson Arrivals = "Poisson"
	// Even arrivals have the same time between them, as those of a clock have.
	Even Arrivals = "Even"
)

// ArrivalNames are all of them, as the API has them.
func ArrivalNames() []string { return []string{string(Poisson), string(Even)} }

// Bounds of an offered rate.
const (
	// MaxRate in operations per second: beyond it, one read of the clock is a gap.
	MaxRate = 1_000_000
	// MaxArrivals of a trial: to draw them takes some seconds.
	MaxArrivals = 1_000_000_000
)

const (
	// late is the share of a schedule's length by which an operation may begin after its time. Then
	// the achieved rate is 99 % of the offered one.
	late = 0.01
	// leastLate is what it may be late in a short schedule.
	leastLate = 10 * time.Millisecond
	// slice is for how long a thread sleeps before it looks whether it is to stop.
	slice = 100 * time.Millisecond
	// mostWait is how many threads wait for a time in the kernel, and leastWait is how many do as long as others are idle:
	// to let one of those go on costs Go's scheduler some 50 µs of CPU, and Go interrupts a thread that sleeps in the kernel
	// every 10 ms.
	mostWait, leastWait = 4, 2
	// spin is for how long a thread burns CPU before its time: to wake up takes about that long.
	spin = 40 * time.Microsecond
)

// Schedule says when each operation of an open loop is to begin. The times are fixed before the
// clock starts and do not depend on how the storage answers. Threads take them in order: a few wait for the next times,
// all others are busy or idle behind them. If all are busy, operations begin
// late, and their latency counts from their time on the schedule nevertheless.
type Schedule struct {
	even    bool
	planned int64
	// length of the schedule: planned operations at the rate.
	length time.Duration

	// begun is how many operations have begun.
	begun atomic.Int64

	// over is closed when no operation is left to begin, next lets an idle thread go on.
	over, next chan struct{}
	end        sync.Once

	mu sync.Mutex
	// waiting threads have an operation whose time has not come, idle ones have none.
	waiting, idle int
	taken         int64
	// gaps draws the times between Poisson arrivals, of which sum is the total so far. scale
	// makes planned of them, and the time from the last to the end, exactly length.
	gaps       *rand.Rand
	sum, scale float64
}

// NewSchedule plans n operations at a rate in operations per second, so that it lasts n/rate. Of
// Poisson arrivals the number is given: their times are then distributed as independent points in that
// time, and the offered rate is exact in each trial.
func NewSchedule(a Arrivals, n int64, rate float64, seed uint64) *Schedule {
	s := &Schedule{even: a == Even, planned: n, length: time.Duration(float64(n) / rate * 1e9), over: make(chan struct{}), next: make(chan struct{}, leastWait)}
	if s.even {
		return s
	}
	draw := func() *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
	all := draw()
	total := 0.0
	for range n + 1 {
		total += all.ExpFloat64()
	}
	s.gaps, s.scale = draw(), float64(s.length)/total
	return s
}

// Length of the schedule.
func (s *Schedule) Length() time.Duration { return s.length }

// Planned operations.
func (s *Schedule) Planned() int64 { return s.planned }

// Backlog is how many operations had not begun when the schedule ended, as they would have been late
// by more than 1 % of its length. It is 0 if the storage kept up with the offered rate.
func (s *Schedule) Backlog() int64 { return s.planned - s.begun.Load() }

// Take waits until the next operation is to begin and returns its number, from 0, and when it is to
// begin. ok is false if
// there is none, if the thread is to stop, or if the schedule's time is over: whatever would begin
// now is the backlog.
func (s *Schedule) Take(t *Thread) (index int64, at time.Duration, ok bool) {
	index, at, ok = s.draw(t)
	if !ok || !t.waitUntil(at) {
		s.end.Do(func() { close(s.over) })
		return 0, 0, false
	}
	s.begin()
	return index, at, true
}

// draw gives the next operation to a thread, when it is its turn to wait for it.
func (s *Schedule) draw(t *Thread) (index int64, at time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == mostWait {
		s.idle++
		s.mu.Unlock()
		select {
		case <-s.next: // it counts as waiting already
		case <-s.over:
		}
		s.mu.Lock()
	} else {
		s.waiting++
	}
	if s.taken >= s.planned || t.Clock.Now() > s.length+max(time.Duration(late*float64(s.length)), leastLate) {
		return 0, 0, false
	}
	at = s.time()
	s.taken++
	return s.taken - 1, at, true
}

// begin counts an operation that begins, and has an idle thread wait in the place of this one if few do.
func (s *Schedule) begin() {
	s.begun.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting--; s.waiting < leastWait && s.idle > 0 {
		s.idle--
		s.waiting++
		s.next <- struct{}{}
	}
}

// time is that of the next operation.
func (s *Schedule) time() time.Duration {
	if s.even {
		return time.Duration(math.Round(float64(s.taken) / float64(s.planned) * float64(s.length)))
	}
	s.sum += s.gaps.ExpFloat64()
	return time.Duration(s.sum * s.scale)
}

// waitUntil waits until the clock shows at, and reports false if the thread is to stop.
func (t *Thread) waitUntil(at time.Duration) bool {
	for {
		switch left := at - t.Clock.Now(); {
		case t.Stopped():
			return false
		case left <= 0:
			return true
		case left > spin:
			nanosleep(min(left-spin, slice))
		}
	}
}

// nanosleep sleeps without the 50 µs by which the kernel may extend the sleep of a thread. The thread keeps its P
// meanwhile: Go's own sleep needs another thread of the kernel to let this one go on.
func nanosleep(d time.Duration) {
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0) // without it sleeps are only longer
	ts := unix.NsecToTimespec(d.Nanoseconds())
	sleep(&ts)
}
