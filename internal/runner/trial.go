package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/observe"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/verdict"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/apart"
)

// apartFrom is what a trial stores beside its document, compressed; empty: nothing.
type apartFrom struct {
	// raw is its tool's output, and samples what was read over time.
	raw, samples []byte
}

// trial runs one trial and returns its document and what is stored beside it. If the workload
// fails, the document says so. An error means that the whole worker cannot continue.
func (w *worker) trial(ctx context.Context, target *target, tuning *tuning, t trial.Trial, index int) (*result.Trial, apartFrom, error) {
	var more apartFrom
	work, ok := w.Plan.Workload(t.Workload)
	if !ok {
		return nil, more, fmt.Errorf("runner: workload %[2]q of trial %[1]s is not in the plan", t.ID, t.Workload)
	}
	engine, err := w.Engines.Engine(work.Engine)
	if err != nil {
		return nil, more, err
	}
	if work, err = work.At(t.Rate); err != nil {
		return nil, more, err
	}
	env := workload.Env{
		Workload: work, Target: w.target, Dir: target.dir(), Opened: target.opened(), Device: target.device, Trial: t, Run: w.Plan.Run, Worker: w.worker.Name,
		Scratch: filepath.Join(w.Scratch, t.ID), State: filepath.Join(w.Spool, "state"), Log: w.Log, Machine: workload.MachineOf(w.summary.Environment),
	}
	for _, dir := range []string{env.Scratch, env.State} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, more, fmt.Errorf("runner: %w", err)
		}
	}
	defer func() { _ = os.RemoveAll(env.Scratch) }() // what stays goes with the Pod

	began := w.Clock.Now()
	d := &result.Trial{
		Schema: result.TrialSchema, Benchmark: w.Plan.Benchmark, Run: w.Plan.Run, Worker: w.worker, Trial: t,
		Engine: work.Engine, Attempt: w.attempt, StartedAt: w.Clock.Now(),
	}
	var m *result.Measurement
	var seen *observed
	err = w.prepare(ctx, engine, env, d, index)
	if err == nil {
		err = w.withTunables(ctx, tuning, d, func() (err error) { m, seen, err = w.execute(ctx, engine, env, d, index); return err })
	}
	d.EndedAt = w.Clock.Now()
	if ctx.Err() == nil && !errors.Is(err, apart.ErrStuck) {
		err = errors.Join(err, w.clean(ctx, engine, env))
	}
	if ctx.Err() != nil { // an interrupted trial does not count
		return nil, more, errors.Join(notRestored(err), ctx.Err(), err)
	}
	if errors.Is(err, apart.ErrStuck) {
		return nil, more, err // it may still write to the target during the next trial
	}
	if m != nil {
		d.Measurement = *m
		more.samples = seen.encode(d)
		w.judge(d, seen)
	}
	d.Seconds = w.Clock.Now().Sub(began).Seconds()
	if d.Precondition != nil {
		d.Seconds = max(0, d.Seconds-d.Precondition.Seconds)
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
	more.raw, err = compress(d.RawOutput)
	d.RawOutput = nil
	return d, more, err
}

// judge adds the verdicts to a trial's document, and what of the disks is compared with what the workload did.
func (w *worker) judge(d *result.Trial, seen *observed) {
	facts := verdict.Of(d, w.summary.Environment)
	facts.Samples, facts.Earlier = seen.table(d.Rates), w.measuredBefore(d.Trial)
	facts.Precondition, facts.TrimmedBefore = w.preconditions[d.Trial.Workload], trimmedBefore(w.summary.Trials, d.Trial.Workload)
	d.Verdicts = verdict.Judge(facts)
	const depth = "device.queue.depth"
	part, share, _ := facts.MeasuredPart()
	d.SetFlushes(w.targetOf(d.Layers).Copies(), part, share)
	if m, ok := part[depth]; ok {
		d.Metrics[depth] = m
	} else {
		delete(d.Metrics, depth)
	}
}

// measuredBefore returns what the trials before t of the same workload and variant measured. The probes
// of a search are compared at the same rate only: how much a sync costs depends on the rate.
func (w *worker) measuredBefore(t trial.Trial) []result.Metrics {
	var out []result.Metrics
	for _, other := range w.summary.Trials {
		if other.Outcome == result.Measured && other.Cell() == t.Cell() && other.Rate == t.Rate {
			out = append(out, other.Metrics)
		}
	}
	return out
}

// trimmedBefore is what the last trials trimmed, back to one of another workload, which may have written, or to one that did.
func trimmedBefore(trials []result.TrialSummary, workload string) (bytes float64) {
	for _, t := range slices.Backward(trials) {
		if t.Workload != workload || t.Metrics["write.bytes"].Value > 0 {
			break
		}
		bytes += t.Metrics["trim.bytes"].Value
	}
	return bytes
}

// notRestored returns the failure in err's chain that says that the node is still changed, or
// nil. No other error may hide it.
func notRestored(err error) error {
	if f, ok := errors.AsType[*trial.Failure](err); ok && f.Class == reason.TunablesNotRestored {
		return f
	}
	return nil
}

// prepare prepares the workload before its first trial in this attempt, whatever the variant, and runs
// its precondition, which may take hours: if that fails, it fails for every variant. No tunable is set
// then.
func (w *worker) prepare(ctx context.Context, engine workload.Engine, env workload.Env, d *result.Trial, index int) error {
	t := d.Trial
	if failed, ok := w.prepared[t.Workload]; ok {
		return failed
	}
	w.report(Event{Step: Preparing, Trial: t, Index: index})
	env.Trial = trial.Trial{}
	if err := engine.Prepare(ctx, env); err != nil {
		return err
	}
	var failed error
	if env.Workload.Precondition != nil {
		failed = w.precondition(ctx, engine, env, d, index)
	}
	w.prepared[t.Workload] = failed
	return failed
}

// clean removes files that the next trial must not find, and lets the disk get over it before that
// begins. No tunable is set then.
func (w *worker) clean(ctx context.Context, engine workload.Engine, env workload.Env) error {
	cleaner, ok := engine.(workload.Cleaner)
	if !ok {
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, trialGrace, errHangs)
	defer cancel()
	if err := cleaner.Clean(limited, env); err != nil {
		return err
	}
	return w.drain(ctx, env)
}

// execute runs a trial, and reads the counters of the disks below the target before it, after
// it, and when all that it left in memory is written. It does the same for every trial,
// whatever its engine and variant, so that none pays for what the one before it left.
func (w *worker) execute(ctx context.Context, engine workload.Engine, env workload.Env, d *result.Trial, index int) (*result.Measurement, *observed, error) {
	t := d.Trial
	expected, _ := engine.Estimate(env.Workload.Config) // 0 if the duration is unknown
	w.report(Event{Step: Running, Trial: t, Index: index, Expected: expected.Duration})
	if env.Device != "" {
		if err := device.DropCache(env.Device); err != nil {
			return nil, nil, env.Unusable(err)
		}
	}
	files, err := w.files(ctx, env)
	if err != nil {
		return nil, nil, err
	}
	before, err := w.layers(ctx, env, d)
	if err != nil {
		return nil, nil, err
	}
	watch := w.watch(w.targetOf(before))
	idle := w.waitForIdle(ctx, watch)
	limited, cancel := w.limitTrial(ctx, expected.Duration)
	defer cancel()
	var m *result.Measurement
	d.StartedAt = w.Clock.Now()
	requests := w.watchRequests()
	seen := &observed{sampler: watch.Start(expected.Duration), limit: result.MaxSamples}
	defer seen.sampler.Stop()
	begin, limits := watch.Read(w.Clock.Now()), watch.Limits()
	used, elapsed := apart.Quietly(func() { m, err = engine.Run(requests.engine(limited), env) })
	end := watch.Read(w.Clock.Now())
	limits = observe.Unchanged(limits, watch.Limits())
	requests.stop()
	if m != nil {
		m.Devices = nil // what an engine claims; only the runner can observe them
	}
	seen.sampler.Stop()
	if ctx.Err() == nil && errors.Is(context.Cause(limited), errHangs) {
		return m, seen, hangs(env, expected.Duration, elapsed, err)
	}
	if m == nil || m.Metrics == nil || elapsed <= 0 {
		return m, seen, err
	}
	if err == nil {
		err = w.drain(ctx, env)
	}
	drained := watch.Read(w.Clock.Now())
	if err == nil {
		err = w.recordLayers(ctx, env, d, m, before)
	}
	if used -= m.EngineCPU; m.Elapsed > 0 {
		used, elapsed = m.RunnerCPU, m.Elapsed
	}
	m.Metrics.Set("runner.cpu", result.Ratio, max(0, used).Seconds()/elapsed.Seconds())
	if unseen := errors.Join(begin.Err, end.Err, drained.Err); unseen != nil {
		m.Notes = append(m.Notes, "cannot read the counters of the disks below the target: "+unseen.Error())
	}
	// The counters also cover the start and the end of the engine's process, which its own
	// time does not.
	for _, more := range []result.Metrics{seen.sampler.Trial(begin, end, drained), limits, idle, files} {
		maps.Copy(m.Metrics, more)
	}
	requests.add(m)
	return m, seen, err
}

// errHangs is the cause of a context that ended because its trial took too long.
var errHangs = errors.New("the trial does not end")

// trialGrace is how much longer than expected a trial may take: it may lay out files first,
// and sync to a slow disk at the end.
const trialGrace = 15 * time.Minute

// limitTrial bounds a trial whose duration is known, so that a trial that hangs does not use
// up the time of all others.
func (w *worker) limitTrial(ctx context.Context, expected time.Duration) (context.Context, context.CancelFunc) {
	if expected <= 0 {
		return context.WithCancel(ctx)
	}
	limit := max(3*expected, expected+cmp.Or(w.TrialGrace, trialGrace))
	return context.WithTimeoutCause(ctx, limit, errHangs)
}

func hangs(env workload.Env, expected, elapsed time.Duration, err error) error {
	engine := env.Workload.Engine
	return &trial.Failure{
		Class: reason.WorkloadFailed, Field: env.Field(engine), Workload: env.Workload.Name, Err: errors.Join(errHangs, err),
		Message: fmt.Sprintf("%s was stopped after %s; its trial was expected to take %s", engine, elapsed.Round(time.Second), expected.Round(time.Second)) + interruption(err),
		Remedy:  "check whether the storage still answers; if it does, use another ioengine",
	}
}

// interruption is what is known of an engine's process that was stopped.
func interruption(err error) string {
	if i, ok := errors.AsType[*apart.Interrupted](err); ok {
		return i.Detail()
	}
	return ""
}

// compress returns a tool's output as it is stored. It cuts the output if it is still too
// large when compressed.
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
