package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"storagebench.io/storagebench/internal/observe"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// trial runs one trial and returns its document and its tool's output,
// compressed. A workload that fails is a document too; an error means that the
// worker as a whole cannot go on.
func (w *worker) trial(ctx context.Context, target *target, tuning *tuning, t trial.Trial, index int) (*result.Trial, []byte, error) {
	work, ok := w.Plan.Workload(t.Workload)
	if !ok {
		return nil, nil, fmt.Errorf("runner: trial %s is of a workload %q that the plan has not", t.ID, t.Workload)
	}
	engine, err := w.Engines.Engine(work.Engine)
	if err != nil {
		return nil, nil, err
	}
	env := workload.Env{
		Workload: work, Target: w.target, Dir: target.dir, Device: target.device, Trial: t,
		Scratch: filepath.Join(w.Scratch, t.ID), State: filepath.Join(w.Spool, "state"), Log: w.Log,
	}
	for _, dir := range []string{env.Scratch, env.State} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, nil, fmt.Errorf("runner: %w", err)
		}
	}
	defer func() { _ = os.RemoveAll(env.Scratch) }() // it goes with the Pod otherwise

	d := &result.Trial{
		Schema: result.TrialSchema, Benchmark: w.Plan.Benchmark, Run: w.Plan.Run, Worker: w.worker, Trial: t,
		Engine: work.Engine, Attempt: w.attempt, StartedAt: w.Clock.Now(),
	}
	var m *result.Measurement
	err = w.prepare(ctx, engine, env, d.Trial, index)
	if err == nil {
		err = w.around(ctx, tuning, d, target.dir, func() (err error) { m, err = w.execute(ctx, engine, env, d, index); return err })
	}
	d.EndedAt = w.Clock.Now()
	if ctx.Err() != nil {
		return nil, nil, ctx.Err() // an interrupted trial is none
	}
	if m != nil {
		d.Measurement = *m
	}
	d.Outcome = result.Measured
	if err != nil {
		d.Outcome, d.Failure = result.Failed, trial.AsFailure(err)
		d.Failure.Workload = t.Workload
		w.Log.Error("trial failed", "trial", t.ID, "error", err)
		w.report(Event{Step: Failed, Trial: t, Index: index, Err: err})
	} else {
		w.report(Event{Step: Measured, Trial: t, Index: index})
	}
	raw, err := compress(d.RawOutput)
	d.RawOutput = nil
	return d, raw, err
}

// prepare prepares the workload if it is the first of its trials in this attempt,
// whatever the variant: with the storage as it is.
func (w *worker) prepare(ctx context.Context, engine workload.Engine, env workload.Env, t trial.Trial, index int) error {
	if w.prepared[t.Workload] {
		return nil
	}
	w.report(Event{Step: Preparing, Trial: t, Index: index})
	env.Trial = trial.Trial{}
	if err := engine.Prepare(ctx, env); err != nil {
		return err
	}
	w.prepared[t.Workload] = true
	return nil
}

// execute runs a trial between two looks at the disks below.
func (w *worker) execute(ctx context.Context, engine workload.Engine, env workload.Env, d *result.Trial, index int) (*result.Measurement, error) {
	t := d.Trial
	expected, _ := engine.Estimate(env.Workload.Config) // unknown is zero
	w.report(Event{Step: Running, Trial: t, Index: index, Expected: expected.Duration})
	var m *result.Measurement
	var err error
	disks := w.disks()
	d.StartedAt = w.Clock.Now()
	before, beforeErr := disks.Read()
	own, elapsed := quietly(func() { m, err = engine.Run(ctx, env) })
	after, afterErr := disks.Read()
	if m == nil || m.Metrics == nil || elapsed <= 0 {
		return m, err
	}
	m.Metrics.Set("runner.cpu", result.Ratio, max(0, own-m.EngineCPU).Seconds()/elapsed.Seconds())
	switch unseen := errors.Join(beforeErr, afterErr); {
	case unseen != nil:
		m.Notes = append(m.Notes, "the devices underneath could not be watched: "+unseen.Error())
	case len(disks.Names) > 0:
		maps.Copy(m.Metrics, before.Metrics(after, elapsed.Seconds()))
	}
	return m, err
}

// disks are the leaf disks below the target; none if they cannot be seen from here.
func (w *worker) disks() observe.Disks {
	disks := observe.Disks{Root: w.System.Root}
	if w.summary.Environment != nil {
		for _, device := range w.summary.Environment.Target.Devices {
			disks.Names = append(disks.Names, device.Name)
		}
	}
	return disks
}

// compress returns what is stored of a tool's output. One that is still larger
// than a document may be is cut.
func compress(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("runner: zstd: %w", err)
	}
	out := encoder.EncodeAll(raw, nil)
	for len(out) > result.MaxRaw {
		raw = raw[:len(raw)/2]
		out = encoder.EncodeAll(raw, nil)
	}
	return out, encoder.Close()
}
