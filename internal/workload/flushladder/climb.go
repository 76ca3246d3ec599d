package flushladder

import (
	"context"
	"errors"
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/native"
)

// climb is one trial.
type climb struct {
	config
	path *byte
	size int64
	data *native.Data
	// direct is O_DIRECT, or 0 if the target refuses it.
	direct int
	// follow is O_NOFOLLOW of a file; a device may be named by a link.
	follow int

	steps   []step
	flushes []flush
	all     histogram.Recorder
	usage   native.Usage
}

// step is what was counted of a rung.
type step struct {
	rung
	latencies histogram.Recorder
	seconds   float64
}

// flush is one fdatasync after an amount of writes.
type flush struct {
	amount  int64
	seconds float64
}

func newClimb(c config, env workload.Env, size int64) *climb {
	l := &climb{config: c, path: native.Path(path(env)), size: size, data: native.NewData(rand.Uint64(), chunk), direct: unix.O_DIRECT}
	if env.Target.Mode == trial.Filesystem {
		l.follow = unix.O_NOFOLLOW
	}
	fd, errno := native.Open(l.path, unix.O_RDWR|unix.O_DIRECT|l.follow)
	if errno == unix.EINVAL {
		l.direct = 0
		return l
	}
	if errno == 0 {
		_ = native.Close(fd) // nothing was written
	}
	return l
}

// open opens the file with flags, without direct I/O where the target refuses it.
func (l *climb) open(flags int) (int, error) {
	if l.direct == 0 {
		flags &^= unix.O_DIRECT
	}
	fd, errno := native.Open(l.path, unix.O_RDWR|l.follow|flags)
	if errno == unix.EINVAL && flags&unix.O_DIRECT != 0 {
		l.direct = 0 // newClimb could not tell before there was a file
		fd, errno = native.Open(l.path, unix.O_RDWR|l.follow|flags&^unix.O_DIRECT)
	}
	if errno != 0 {
		return -1, &native.Failed{Call: "open", Errno: errno}
	}
	return fd, nil
}

// fill writes the whole file, so that no write of a trial allocates anything, and makes it durable.
func (l *climb) fill(ctx context.Context) error {
	return l.in(ctx, unix.O_CREAT|unix.O_DIRECT, func(t *native.Thread, fd int) error {
		if err := l.write(t, fd, 0, l.size); err != nil {
			return err
		}
		return failed("fsync", native.Fsync(fd))
	})
}

// in runs f in a thread of its own on the file, opened with flags.
func (l *climb) in(ctx context.Context, flags int, f func(t *native.Thread, fd int) error) error {
	fd, err := l.open(flags)
	if err != nil {
		return err
	}
	used, err := native.Run(ctx, 1, func(t *native.Thread) error { return f(t, fd) })
	l.usage.Elapsed += used.Elapsed
	l.usage.User += used.User
	l.usage.System += used.System
	if errno := native.Close(fd); errno != 0 && err == nil {
		err = &native.Failed{Call: "close", Errno: errno}
	}
	return err
}

func failed(call string, errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return &native.Failed{Call: call, Errno: errno}
}

// write writes an amount from an offset on, beginning anew at the end.
func (l *climb) write(t *native.Thread, fd int, offset, amount int64) error {
	for done := int64(0); done < amount && !t.Stopped(); {
		n := min(amount-done, chunk)
		if err := failed("write", native.Pwrite(fd, l.data.Next(int(n)), (offset+done)%l.size)); err != nil {
			return err
		}
		done += n
	}
	return nil
}

// errSkipped is a rung that the target cannot do.
var errSkipped = errors.New("direct I/O is refused")

// step climbs one rung: the first block of the file, again and again.
func (l *climb) step(ctx context.Context, r rung) error {
	if r.flags&unix.O_DIRECT != 0 && l.direct == 0 && r.call == nil {
		return errSkipped
	}
	s := step{rung: r}
	err := l.in(ctx, r.flags, func(t *native.Thread, fd int) error {
		begin := t.Clock.Now()
		for range l.Operations {
			if t.Stopped() {
				break
			}
			content := l.data.Next(block)
			start := t.Clock.Now()
			if err := failed("write", native.Pwrite(fd, content, 0)); err != nil {
				return err
			}
			if r.call != nil {
				if err := failed(r.name, r.call(fd)); err != nil {
					return err
				}
			}
			s.latencies.Record(uint64(t.Clock.Now() - start))
		}
		s.seconds = (t.Clock.Now() - begin).Seconds()
		return nil
	})
	if err != nil {
		return err
	}
	l.steps = append(l.steps, s)
	// What a rung leaves in memory or in the disk's cache is not the next one's.
	return l.in(ctx, 0, func(_ *native.Thread, fd int) error { return failed("fdatasync", native.Fdatasync(fd)) })
}

// flush times flushes after each amount, in an order drawn for the trial: a disk that gets slower, or
// somebody else who writes for a while, does not look like an effect of the amount.
func (l *climb) flush(ctx context.Context, order *rand.Rand) error {
	var todo []int64
	for range l.Repeats {
		todo = append(todo, amounts(l.size)...)
	}
	order.Shuffle(len(todo), func(a, b int) { todo[a], todo[b] = todo[b], todo[a] })
	return l.in(ctx, unix.O_DIRECT, func(t *native.Thread, fd int) error {
		for _, amount := range todo {
			if t.Stopped() {
				return nil
			}
			offset := order.Int64N(l.size/chunk) * chunk
			if err := l.write(t, fd, offset, amount); err != nil {
				return err
			}
			start := t.Clock.Now()
			if err := failed("fdatasync", native.Fdatasync(fd)); err != nil {
				return err
			}
			took := t.Clock.Now() - start
			l.all.Record(uint64(took))
			l.flushes = append(l.flushes, flush{amount, took.Seconds()})
		}
		return nil
	})
}
