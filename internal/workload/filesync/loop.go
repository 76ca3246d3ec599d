package filesync

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/workload/native"
)

// loop is what one thread does, and what it has counted.
type loop struct {
	way
	dir  int   // the directory, opened by this thread alone
	path *byte // of the file in it
	data *native.Data
	size int
	// left is how many files are still to be made, by all threads.
	left *atomic.Int64
	// schedule says when each file is to be begun; nil: as soon as a thread is free.
	schedule *native.Schedule

	whole, waited, opened, written, synced, closed, unlinked histogram.Recorder
}

// run makes files until none is left. The clock is read where one step ends and the
// next begins; what is between two files, the count and fresh data, is in no latency.
func (l *loop) run(thread *native.Thread) error {
	flags := unix.O_CREAT | unix.O_RDWR | l.flag
	for !thread.Stopped() {
		content := l.data.Next(l.size)
		begin, now, ok := l.next(thread)
		if !ok {
			break
		}
		fd, errno := native.OpenAt(l.dir, l.path, flags)
		if errno != 0 {
			return &native.Failed{Call: "open", Errno: errno}
		}
		now = mark(&l.opened, thread, now)
		if errno := native.Write(fd, content); errno != 0 {
			return l.abandon(fd, "write", errno)
		}
		now = mark(&l.written, thread, now)
		if l.call != nil {
			if errno := l.call(fd); errno != 0 {
				return l.abandon(fd, l.name, errno)
			}
			now = mark(&l.synced, thread, now)
		}
		if errno := native.Close(fd); errno != 0 {
			return &native.Failed{Call: "close", Errno: errno}
		}
		now = mark(&l.closed, thread, now)
		if errno := native.UnlinkAt(l.dir, l.path); errno != 0 {
			return &native.Failed{Call: "unlink", Errno: errno}
		}
		now = mark(&l.unlinked, thread, now)
		l.whole.Record(uint64(now - begin))
		thread.Count(1, int64(l.size))
	}
	return nil
}

// next returns when the next file is to be begun, from when on its latency counts, and when it is. A
// loop without a schedule begins it at once. ok is false if there is no file left.
func (l *loop) next(thread *native.Thread) (due, now time.Duration, ok bool) {
	if l.schedule == nil {
		ok = l.left.Add(-1) >= 0
		now = thread.Clock.Now()
		return now, now, ok
	}
	if _, due, ok = l.schedule.Take(thread); !ok {
		return 0, 0, false
	}
	return due, mark(&l.waited, thread, due), true
}

// mark ends a step that has begun at since, and returns when that was.
func mark(step *histogram.Recorder, thread *native.Thread, since time.Duration) time.Duration {
	now := thread.Clock.Now()
	step.Record(uint64(now - since))
	return now
}

// abandon closes a file that could not be written.
func (*loop) abandon(fd int, call string, errno unix.Errno) error {
	_ = native.Close(fd) // the first error is the one to tell
	return &native.Failed{Call: call, Errno: errno}
}
