package postmark

import (
	"errors"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/workload/native"
)

// worker is one thread of a trial: it carries out what its script decides.
type worker struct {
	script       *script
	share        share
	dir          int // opened by this worker alone
	durability   string
	stopWhenBare bool // the original ends when no file is left

	name      []byte // of the current file, for the kernel
	content   source
	chunk     int
	writeUnit int
	buffer    []byte // to read into

	tallies tallies
	// The original's own sums of bytes, which lose what a float32 cannot hold.
	floatRead, floatWritten float32
}

// source makes the content of files: up to n bytes, which are valid until the next call.
type source func(n int) []byte

// errStopped ends a thread that has been told to stop.
var errStopped = errors.New("stopped")

// outOfFiles ends a trial of mode Compatible as the original ends it.
type outOfFiles struct{ transactions int64 }

func (o *outOfFiles) Error() string {
	return "no file was left after " + strconv.FormatInt(o.transactions, 10) + " transactions"
}

func (w *worker) create(t *native.Thread) error {
	now := t.Clock.Now()
	var err error
	for range w.share.files {
		if t.Stopped() {
			return errStopped
		}
		if now, err = w.perform(t, w.script.create(), &w.tallies.createAlone, now); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) remove(t *native.Thread) error {
	now := t.Clock.Now()
	for {
		op, ok := w.script.next()
		if !ok {
			return nil
		}
		if t.Stopped() {
			return errStopped
		}
		var err error
		if now, err = w.perform(t, op, &w.tallies.removeAlone, now); err != nil {
			return err
		}
	}
}

// transact runs the worker's transactions. The clock is read once for each half: where
// one ends, the next begins.
func (w *worker) transact(t *native.Thread) error {
	all := &w.tallies.transactions
	begin := t.Clock.Now()
	for i := range w.share.transactions {
		if t.Stopped() {
			return errStopped
		}
		if w.stopWhenBare && w.script.empty() {
			return &outOfFiles{transactions: i}
		}
		all.attempted++
		var skipped, done int
		now := begin
		for half := range 2 {
			op := w.script.half(half)
			if op.kind == nothing {
				continue
			}
			var err error
			if now, err = w.perform(t, op, w.tallies.of(op.kind), now); err != nil {
				if !errors.Is(err, errStopped) {
					all.failed++
				}
				return err
			}
			if op.skipped {
				skipped++
			} else {
				done++
			}
		}
		if done == 0 {
			all.skipped++
			continue
		}
		if skipped > 0 {
			w.tallies.half++
		}
		all.done++
		t.Count(1, 0)
		all.latency.Record(uint64(now - begin))
		begin = now
	}
	return nil
}

// perform carries out one operation and counts it.
func (w *worker) perform(t *native.Thread, op operation, count *tally, begin time.Duration) (end time.Duration, err error) {
	count.attempted++
	if op.skipped {
		count.skipped++
		return begin, nil
	}
	switch op.kind {
	case readFile:
		err = w.readFile(t, op)
		w.floatRead += float32(op.bytes)
	case appendFile:
		err = w.writeFile(t, op, unix.O_WRONLY|unix.O_APPEND)
		w.floatWritten += float32(op.bytes)
	case createFile:
		// O_EXCL, as a file that is there already is not created.
		err = w.writeFile(t, op, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
		w.floatWritten += float32(op.bytes)
	case deleteFile:
		err = w.deleteFile(op)
	}
	if err != nil {
		if !errors.Is(err, errStopped) {
			count.failed++
		}
		return begin, err
	}
	end = t.Clock.Now()
	count.done++
	count.bytes += uint64(op.bytes)
	count.latency.Record(uint64(end - begin))
	return end, nil
}
