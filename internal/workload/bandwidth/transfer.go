package bandwidth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/workload/native"
)

// transfer moves an area block by block. Its threads share the counter of blocks.
type transfer struct {
	fd          int
	size, block int64
	next        atomic.Int64
	threads     []*mover
}

// mover is what one thread does, and what it has counted.
type mover struct {
	*transfer
	data      *native.Data // to be written, or
	buffer    []byte       // to be read into
	latencies histogram.Recorder
	bytes     int64
}

// newTransfer makes what the threads need before the clock starts.
func newTransfer(fd int, size, block int64, depth int, writing bool) *transfer {
	t := &transfer{fd: fd, size: size, block: block}
	for range depth {
		m := &mover{transfer: t}
		if writing {
			// Other data in each trial and run, as storage may deduplicate.
			m.data = native.NewData(rand.Uint64(), int(block))
		} else {
			m.buffer = native.Aligned(int(block))
		}
		t.threads = append(t.threads, m)
	}
	return t
}

func (t *transfer) run(ctx context.Context) (native.Usage, error) {
	return native.Run(ctx, len(t.threads), func(thread *native.Thread) error {
		m := t.threads[thread.Index]
		if m.data != nil {
			return m.write(thread)
		}
		return m.read(thread)
	})
}

// take returns the place of the next block, or false if there is none. The last may be
// shorter than the others.
func (t *transfer) take() (offset int64, n int, ok bool) {
	offset = (t.next.Add(1) - 1) * t.block
	return offset, int(min(t.block, t.size-offset)), offset < t.size
}

func (m *mover) write(thread *native.Thread) error {
	for !thread.Stopped() {
		offset, n, ok := m.take()
		if !ok {
			break
		}
		content := m.data.Next(n)
		begin := thread.Clock.Now()
		if errno := native.Pwrite(m.fd, content, offset); errno != 0 {
			return &native.Failed{Call: "write", Errno: errno}
		}
		m.latencies.Record(uint64(thread.Clock.Now() - begin))
		m.bytes += int64(n)
		thread.Count(1, int64(n))
	}
	return nil
}

func (m *mover) read(thread *native.Thread) error {
	for !thread.Stopped() {
		offset, n, ok := m.take()
		if !ok {
			break
		}
		begin := thread.Clock.Now()
		got, errno := native.Pread(m.fd, m.buffer[:n], offset)
		if errno != 0 {
			return &native.Failed{Call: "read", Errno: errno}
		}
		if got < n {
			return fmt.Errorf("read: the data ends at %d and not at %d: %w", offset+int64(got), m.size, io.ErrUnexpectedEOF)
		}
		m.latencies.Record(uint64(thread.Clock.Now() - begin))
		m.bytes += int64(n)
		thread.Count(1, int64(n))
	}
	return nil
}

// sum is what all threads have counted.
func (t *transfer) sum() (latencies *histogram.Recorder, bytes int64) {
	latencies = &histogram.Recorder{}
	for _, m := range t.threads {
		latencies.Merge(&m.latencies)
		bytes += m.bytes
	}
	return latencies, bytes
}

// failed turns an error of the threads into a failure.
func (a area) failed(err error) error {
	if f, ok := errors.AsType[*native.Failed](err); ok {
		return a.refused(f.Call, f.Errno)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return a.refused("read", err)
	}
	return err
}

// extend says where the end of a file will be that several threads write: otherwise
// each write beyond the end would move it, for which many file systems let in one
// thread at a time.
func (a area) extend(fd int) error {
	if a.onDevice() || a.config.Depth == 1 {
		return nil
	}
	if err := unix.Ftruncate(fd, a.size); err != nil {
		return a.refused("ftruncate", err)
	}
	return nil
}
