package native

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/workload/tool"
)

// Thread is one thread of an engine.
type Thread struct {
	// Index counts from 0.
	Index int
	// Clock is that of all threads of a Run. It stands at 0 when they are let go.
	Clock Clock

	counter    counter
	schedule   tool.Schedule
	stop       *atomic.Bool
	used       unix.Rusage
	begin, end time.Duration
	err        error
}

// Stopped reports that the trial is over before its time: another thread has failed,
// or the context has ended. A thread asks before each operation.
func (t *Thread) Stopped() bool { return t.stop.Load() }

// Clock is the time since a moment, at the price of one read of the monotonic clock.
type Clock struct{ start time.Time }

// NewClock returns a clock that stands at 0.
func NewClock() Clock { return Clock{time.Now()} }

// Now is the time since the clock's start.
func (c Clock) Now() time.Duration { return time.Since(c.start) }

// Usage is what the threads of a Run have used.
type Usage struct {
	// Elapsed is from the moment the first thread began to the end of the last. How
	// long a thread waits for a processor after it was let go is not the storage's time.
	Elapsed time.Duration
	// User and System are CPU time, of all threads together.
	User, System time.Duration
	// Schedule is what the scheduler did with the threads, Paces what they counted over time.
	Schedule tool.Schedule
	Paces    []Pace
}

// Run lets n threads of the kernel go at once and waits for them. body is called in
// each. The first error stops the others and is returned, as is that of ctx. Nothing
// else is done meanwhile; what body needs it must have before.
func Run(ctx context.Context, n int, body func(*Thread) error) (Usage, error) {
	// One P more than there are threads, as these never give theirs away.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(runtime.NumCPU(), n+1)))

	var stop atomic.Bool
	unhook := context.AfterFunc(ctx, func() { stop.Store(true) })
	defer unhook()

	threads := make([]*Thread, n)
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	ready.Add(n)
	done.Add(n)
	for i := range threads {
		t := &Thread{Index: i, stop: &stop}
		threads[i] = t
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
			before, scheduled := threadUsage(), schedule()
			t.begin = t.Clock.Now()
			t.err = body(t)
			t.end = t.Clock.Now()
			t.used, t.schedule = since(before), schedule().Since(scheduled)
			if t.err != nil {
				stop.Store(true)
			}
		}()
	}
	ready.Wait()
	meter := newMeter(threads)
	clock := NewClock()
	for _, t := range threads {
		t.Clock = clock
	}
	meter.start()
	close(release)
	done.Wait()
	usage, err := sum(ctx, threads)
	usage.Paces = meter.end()
	return usage, err
}

func sum(ctx context.Context, threads []*Thread) (Usage, error) {
	var u Usage
	var first error
	begin, end := threads[0].begin, threads[0].end
	for _, t := range threads {
		begin, end = min(begin, t.begin), max(end, t.end)
		u.Schedule.Add(t.schedule)
		u.User += time.Duration(t.used.Utime.Nano())
		u.System += time.Duration(t.used.Stime.Nano())
		if t.err != nil && first == nil {
			first = fmt.Errorf("thread %d: %w", t.Index, t.err)
		}
	}
	if first == nil {
		first = ctx.Err()
	}
	u.Elapsed = end - begin
	return u, first
}

// Aside runs in one thread what a trial needs and does not measure, and returns the CPU time
// of it. An engine adds that to the time of its threads, so that it does not count as
// overhead of the runner.
func Aside(f func() error) (cpu time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadUsage()
	err = f()
	used := since(before)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), err
}

func threadUsage() unix.Rusage {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &u) // it cannot fail with these arguments
	return u
}

func since(before unix.Rusage) unix.Rusage {
	now := threadUsage()
	now.Utime = unix.NsecToTimeval(now.Utime.Nano() - before.Utime.Nano())
	now.Stime = unix.NsecToTimeval(now.Stime.Nano() - before.Stime.Nano())
	return now
}
