package postmark

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/native"
)

// run is one trial: its workers, and how long each phase took.
type run struct {
	config
	dir     string
	workers []*worker

	create, transactions, remove native.Usage
	// synced is the part of the phase of transactions that SyncAtEnd took.
	synced time.Duration
	// whole are the times by the clock on the wall at which the phases began, and the
	// last one ended, in seconds: all that the original knows of time.
	whole    []int64
	complete bool
}

// workDir is the directory of a workload's trials.
func workDir(env workload.Env) string {
	return filepath.Join(env.Dir, "postmark-"+env.Workload.Name)
}

// newRun makes directories and everything that threads need.
func newRun(ctx context.Context, c config, env workload.Env) (*run, error) {
	r := &run{config: c, dir: workDir(env)}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return r, err
	}
	for i, share := range c.shares() {
		w := &worker{
			share: share, dir: -1, durability: c.Durability, stopWhenBare: c.compatible(),
			name: make([]byte, nameLength), chunk: c.chunk(), writeUnit: c.writeUnit(), buffer: make([]byte, c.readUnit()),
		}
		r.workers = append(r.workers, w)
		dir := r.dir
		if c.compatible() {
			random := newRandom(uint32(c.Seed))
			text := sourceText(random, int(c.MaxSize), w.chunk)
			w.content = func(n int) []byte { return text[:min(n, len(text))] }
			w.script = newScript(c.rules(share.files), random)
		} else {
			// Other decisions in each repeat, and other data in each trial.
			w.content = native.NewData(rand.Uint64(), w.chunk).Next
			w.script = newScript(c.rules(share.files), newRandom(seedOf(c.Seed, env.Trial.Repeat, i)))
			dir = filepath.Join(dir, fmt.Sprintf("t%d", i))
			if err := os.Mkdir(dir, 0o700); err != nil {
				return r, err
			}
		}
		var err error
		if w.dir, err = native.OpenDirectory(dir); err != nil {
			return r, err
		}
		if err := w.makeSubdirectories(ctx); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (w *worker) makeSubdirectories(ctx context.Context) error {
	if w.script.table.directories == nil {
		return nil
	}
	for i := range w.script.subdirectories {
		if err := unix.Mkdirat(w.dir, string(subdirectory(nil, uint32(i))), 0o700); err != nil {
			return &native.Failed{Call: "mkdir", Errno: errnoOf(err)}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func errnoOf(err error) unix.Errno {
	errno, _ := errors.AsType[unix.Errno](err)
	return errno
}

// close closes what newRun has opened and removes what is left of the trial.
func (r *run) close() error {
	for _, w := range r.workers {
		if w.dir >= 0 {
			_ = native.Close(w.dir) // a directory that was only read
		}
	}
	return os.RemoveAll(r.dir)
}

// phases runs the three phases. Every thread ends one before any begins the next.
func (r *run) phases(ctx context.Context) (err error) {
	r.tick()
	if r.create, err = r.phase(ctx, (*worker).create); err != nil {
		return err
	}
	r.tick()
	if r.transactions, err = r.phase(ctx, (*worker).transact); err != nil {
		return err
	}
	if err := r.sync(ctx); err != nil {
		return err
	}
	r.tick()
	r.remove, err = r.phase(ctx, (*worker).remove)
	r.tick()
	r.complete = err == nil
	return err
}

func (r *run) tick() { r.whole = append(r.whole, time.Now().Unix()) }

func (r *run) phase(ctx context.Context, body func(*worker, *native.Thread) error) (native.Usage, error) {
	return native.Run(ctx, len(r.workers), func(t *native.Thread) error {
		err := body(r.workers[t.Index], t)
		if errors.Is(err, errStopped) {
			return nil // why it was stopped is for others to say
		}
		return err
	})
}

// sync makes durable what creates and transactions have written, once. What is deleted
// afterwards need not be.
func (r *run) sync(ctx context.Context) error {
	if r.Durability != syncAtEnd {
		return nil
	}
	usage, err := native.Run(ctx, 1, func(*native.Thread) error {
		if errno := native.Syncfs(r.workers[0].dir); errno != 0 {
			return failed("syncfs", errno)
		}
		return nil
	})
	r.synced = usage.Elapsed
	r.transactions.Elapsed += usage.Elapsed
	r.transactions.User += usage.User
	r.transactions.System += usage.System
	return err
}

// total is what all threads have counted.
func (r *run) total() *tallies {
	total := &tallies{}
	for _, w := range r.workers {
		total.merge(&w.tallies)
	}
	return total
}
