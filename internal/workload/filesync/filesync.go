package filesync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/native"
)

// Engine runs filesync.
type Engine struct{}

var _ workload.Engine = Engine{}

// Name is filesync, as the field of the API.
func (Engine) Name() string { return "filesync" }

// Check refuses values out of bounds, and a target that holds no files.
func (Engine) Check(raw json.RawMessage, mode trial.Mode) error {
	if mode != trial.Filesystem {
		return &trial.Failure{
			Class: reason.InvalidSpec, Field: "filesync", Message: "filesync needs a file system, but the target is a block device",
			Remedy: "use a target with a file system, or fio or bandwidth for the device",
		}
	}
	_, err := decode(raw)
	return err
}

// Estimate knows the room, and the time only if a rate is offered.
func (Engine) Estimate(raw json.RawMessage) (workload.Estimate, error) {
	c, err := decode(raw)
	return workload.Estimate{Bytes: c.room(), Duration: c.duration()}, err
}

// duration of a trial that offers a rate, or 0.
func (c config) duration() time.Duration {
	if c.OfferedRate == 0 {
		return 0
	}
	return time.Duration(float64(c.Files) / float64(c.OfferedRate) * 1e9)
}

// Outline says what the workload will do at a place.
func (Engine) Outline(_ string, raw json.RawMessage, _ workload.Place) (workload.Outline, error) {
	c, err := decode(raw)
	return workload.Outline{Needs: c.room(), Duration: c.duration(), Writes: workload.Product(uint64(c.Files), uint64(c.Size))}, err
}

// room is what the files that are there at once occupy, in blocks of 4 KiB.
func (c config) room() uint64 {
	const block = 4096
	return uint64(c.Threads) * ((uint64(c.Size) + block - 1) / block * block)
}

// Tools is empty: no program is run.
func (Engine) Tools(context.Context) map[string]string { return nil }

// Prepare sees whether there is room.
func (Engine) Prepare(_ context.Context, env workload.Env) error {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return env.InSpec(err)
	}
	if err := c.removeFiles(env); err != nil {
		return err
	}
	free, err := env.Room()
	if err != nil {
		return err
	}
	if need := c.room(); need > free {
		return env.TooSmall(need, free, "make it larger, or lower size or threads of the workload")
	}
	return nil
}

// Run executes one trial.
func (Engine) Run(ctx context.Context, env workload.Env) (m *result.Measurement, err error) {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return nil, env.InSpec(err)
	}
	// Of a thread that failed, or of an attempt that was killed.
	if err := c.removeFiles(env); err != nil {
		return nil, err
	}
	defer func() {
		if removed := c.removeFiles(env); err == nil {
			err = removed
		}
	}()
	var loops []*loop
	defer func() { closeAll(loops) }()
	aside, err := native.Aside(func() (err error) {
		loops, err = c.setUp(env)
		return err
	})
	if err != nil {
		return nil, err
	}
	usage, err := native.Run(ctx, c.Threads, func(t *native.Thread) error { return loops[t.Index].run(t) })
	m = measurement(loops, usage)
	if m == nil || err != nil {
		return m, refused(env, err)
	}
	m.EngineCPU += aside
	drained, err := native.Drain(env.Dir)
	if err != nil {
		return m, env.Refused("filesync", "after the trial", err)
	}
	m.Metrics.Set("drain.duration", result.Seconds, drained.Seconds())
	return m, nil
}

// setUp makes what the threads need. What others have left in memory is written first,
// as it must not become a part of the trial.
func (c config) setUp(env workload.Env) ([]*loop, error) {
	if _, err := native.Drain(env.Dir); err != nil {
		return nil, env.Refused("filesync", "before the trial", err)
	}
	loops, err := c.loops(env)
	if err != nil {
		return loops, env.Refused("filesync", "the run's directory", err)
	}
	return loops, nil
}

// refused turns a thread's error into a failure.
func refused(env workload.Env, err error) error {
	if f, ok := errors.AsType[*native.Failed](err); ok {
		return env.Refused("filesync", f.Call, f.Errno)
	}
	return err
}

func (c config) loops(env workload.Env) ([]*loop, error) {
	w, _ := c.way() // that there is one was checked
	left := &atomic.Int64{}
	left.Store(c.Files)
	var schedule *native.Schedule
	if c.OfferedRate > 0 {
		schedule = native.NewSchedule(native.Arrivals(c.Arrivals), c.Files, float64(c.OfferedRate), uint64(env.Seed()))
	}
	var loops []*loop
	for i := range c.Threads {
		dir, err := native.OpenDirectory(env.Dir)
		if err != nil {
			return loops, err
		}
		loops = append(loops, &loop{
			way: w, dir: dir, path: native.Path(c.file(env, i)), size: int(c.Size), left: left, schedule: schedule,
			// Other data in each trial and run, as storage may deduplicate.
			data: native.NewData(rand.Uint64(), int(c.Size)),
		})
	}
	return loops, nil
}

func closeAll(loops []*loop) {
	for _, l := range loops {
		_ = native.Close(l.dir) // a directory that was only read
	}
}

// file of a thread, in the run's directory.
func (config) file(env workload.Env, thread int) string {
	return fmt.Sprintf("filesync-%s.%d", env.Workload.Name, thread)
}

func (c config) removeFiles(env workload.Env) error {
	for i := range c.Threads {
		if err := os.Remove(filepath.Join(env.Dir, c.file(env, i))); err != nil && !errors.Is(err, os.ErrNotExist) {
			return env.Refused("filesync", "remove", err)
		}
	}
	return nil
}

// measurement sums up what the threads have counted, or is nil if no file was made.
func measurement(loops []*loop, usage native.Usage) *result.Measurement {
	schedule := loops[0].schedule
	total := &loop{way: loops[0].way, schedule: schedule}
	for _, l := range loops {
		for i, step := range l.steps() {
			total.steps()[i].recorder.Merge(step.recorder)
		}
	}
	files, seconds := float64(total.whole.Count()), usage.Elapsed.Seconds()
	if files == 0 || seconds <= 0 {
		return nil
	}
	m := &result.Measurement{Metrics: result.Metrics{}, Histograms: result.Histograms{}, EngineCPU: usage.User + usage.System}
	if schedule != nil {
		seconds = max(seconds, schedule.Length().Seconds())
		m.Metrics.Set("filesync.rate.offered", result.PerSecond, float64(schedule.Planned())/schedule.Length().Seconds())
		m.Metrics.Set("filesync.backlog", result.Count, float64(schedule.Backlog()))
	}
	m.Metrics.Set("filesync.rate", result.PerSecond, files/seconds)
	m.Metrics.Set("filesync.count", result.Count, files)
	synced := files
	if !loops[0].way.syncs() {
		synced = 0
	}
	m.Metrics.Set(result.FilesSynced, result.Count, synced)
	m.Metrics.Set("write.bytes", result.Bytes, files*float64(loops[0].size))
	m.Metrics.SetSchedule(usage.Schedule.Ran, usage.Schedule.Waited, usage.Schedule.Slices)
	for _, p := range usage.Paces {
		m.AddRate("filesync", p.End, p.Length, p.Count, p.Bytes)
	}
	for _, s := range total.steps() {
		h := s.recorder.Histogram()
		m.Operations = append(m.Operations, s.name)
		m.Metrics.SetLatency(s.name, s.recorder.Mean(), float64(s.recorder.Max()), h)
		m.Histograms[s.name] = h
	}
	m.Metrics.Set("cpu.user", result.Ratio, usage.User.Seconds()/seconds)
	m.Metrics.Set("cpu.system", result.Ratio, usage.System.Seconds()/seconds)
	return m
}

// step is an operation, by the name that its metrics have.
type step struct {
	name     string
	recorder *histogram.Recorder
}

// steps of the loop, the whole first, then in their order.
func (l *loop) steps() []step {
	steps := []step{{"filesync", &l.whole}}
	if l.schedule != nil {
		steps = append(steps, step{"wait", &l.waited})
	}
	steps = append(steps, step{"open", &l.opened}, step{"write", &l.written})
	if l.call != nil {
		steps = append(steps, step{"sync", &l.synced})
	}
	return append(steps, step{"close", &l.closed}, step{"unlink", &l.unlinked})
}
