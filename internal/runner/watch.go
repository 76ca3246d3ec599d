package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/observe"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/apart"
)

// watch returns what to read of the kernel before and after each trial on a target.
func (w *worker) watch(target result.TargetEnvironment) observe.Watch {
	out := observe.Watch{Root: w.System.Root, Target: target.Counted(), Uncounted: target.Uncounted(), Above: target.Passed()}
	loops := false
	for _, layer := range target.Layers {
		loops = loops || layer.Kind == result.LoopLayer
	}
	if loops {
		out.Below = belowLoops(target.Layers)
		if len(out.Below) == 0 {
			out.Others = slices.DeleteFunc(w.System.Disks(), func(name string) bool { return slices.Contains(out.Target, name) })
		}
	}
	out.ZFS, out.Pool = result.OnZFS(target.Layers)
	return out
}

// belowLoops returns the disks at the bottom of a stack, below its loop devices.
func belowLoops(layers []result.Layer) []string {
	var disks []string
	for _, leaf := range result.Leaves(layers) {
		if leaf.Kind == result.DiskLayer {
			disks = append(disks, leaf.ID)
		}
	}
	return disks
}

// baselineWindow is how long the machine is watched before the worker's first trial.
const baselineWindow = time.Second

// baseline records what the disks and the machine do while nothing of the worker runs, once.
func (w *worker) baseline(ctx context.Context) {
	e := w.summary.Environment
	if e == nil || e.Idle != nil {
		return
	}
	sampler := w.watch(e.Target).Start(baselineWindow)
	select {
	case <-ctx.Done():
	case <-w.Clock.After(baselineWindow):
	}
	e.Idle = sampler.Idle()
}

const (
	// idleWindow is how long the disks are watched before a trial.
	idleWindow = 250 * time.Millisecond
	// idleWindows is how often, until the disks are idle. Some never are.
	idleWindows = 6
)

// waitForIdle waits until the target's disks are idle, for a moment, and returns what they
// still did at last.
func (w *worker) waitForIdle(ctx context.Context, watch observe.Watch) result.Metrics {
	if len(watch.Target) == 0 {
		return nil
	}
	var idle result.Metrics
	for range idleWindows {
		from := watch.Read(w.Clock.Now())
		select {
		case <-ctx.Done():
			return nil
		case <-w.Clock.After(idleWindow):
		}
		to := watch.Read(w.Clock.Now())
		idle = watch.Idle(from, to)
		if !watch.Busy(from, to) {
			break
		}
	}
	return idle
}

// drain writes what a trial left in memory to the disk, so that the next trial does not pay
// for it. The kernel can keep it waiting for ever, if the storage does not answer.
func (w *worker) drain(ctx context.Context, env workload.Env) error {
	// It may outlive this call, and so must its descriptor.
	own, err := duplicate(env)
	if err != nil {
		return err
	}
	return w.unlessItHangs(ctx, env, "writing the trial's data from memory to the storage", func() error { return syncTarget(env, own) })
}

// files looks at the files that the trial finds.
func (w *worker) files(ctx context.Context, env workload.Env) (result.Metrics, error) {
	found := make(chan result.Metrics, 1)
	err := w.unlessItHangs(ctx, env, "looking at the trial's files", func() error { found <- device.Files(env.Dir); return nil })
	if err != nil {
		return nil, err
	}
	return <-found, nil
}

// unlessItHangs calls f, which uses the target, and gives up if that does not answer. f may go on
// after that, so what it uses must be its own.
func (w *worker) unlessItHangs(ctx context.Context, env workload.Env, what string, f func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, trialGrace, errHangs)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), errHangs) {
			return ctx.Err()
		}
		return &trial.Failure{
			Class: reason.WorkloadFailed, Field: env.Field(env.Workload.Engine), Workload: env.Workload.Name, Err: apart.ErrStuck,
			Message: fmt.Sprintf("%s did not end within %s", what, trialGrace),
			Remedy:  "check the kernel's log, and whether the storage still answers",
		}
	}
}

// duplicate returns a descriptor of the target's directory of its own, or nil if the target is
// opened by its path.
func duplicate(env workload.Env) (*os.File, error) {
	if env.Opened == nil || env.Device != "" {
		return nil, nil
	}
	fd, err := unix.FcntlInt(env.Opened.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("runner: dup %s: %w", env.Opened.Name(), err)
	}
	return os.NewFile(uintptr(fd), env.Opened.Name()), nil
}

// syncTarget syncs the target's file system, or its device, and closes f, if there is one.
func syncTarget(env workload.Env, f *os.File) error {
	path, sync := env.Dir, unix.Syncfs
	if env.Device != "" {
		path, sync = env.Device, unix.Fsync
	}
	if f == nil {
		var err error
		if f, err = os.Open(path); err != nil {
			return fmt.Errorf("runner: %w", err)
		}
	}
	defer func() { _ = f.Close() }() // it was only synced
	if err := sync(int(f.Fd())); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("runner: sync %s: %w", path, err)
	}
	return nil
}
