package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/environment"
	"storagebench.io/storagebench/internal/observe/blockio"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/runner/journal"
	"storagebench.io/storagebench/internal/stopping"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload/apart"
)

// errTimedOut is the cause of a context that ended at the worker's deadline.
var errTimedOut = errors.New("the timeout has passed")

const (
	// finishGrace is how long a worker may take to upload its results after the deadline.
	finishGrace = time.Minute
	// stopGrace is how long it may take when the process is stopped.
	stopGrace = 15 * time.Second
	// restoreGrace is what restoring the settings of a trial and marking its device usually
	// take, and more. If they take longer, the worker is killed, and its successor or a
	// restore Job does what is left.
	restoreGrace = 15 * time.Second

	// StopLimit is how long a worker may take to end once it is asked to.
	StopLimit = apart.StopLimit + restoreGrace + stopGrace
)

// Run executes the worker's part of the plan and reports how far it came. If ctx
// is cancelled, the trial in progress is stopped and Run returns soon.
func Run(ctx context.Context, o Options) trial.Receipt {
	receipt := trial.Receipt{Schema: trial.ReceiptSchema, Run: o.Plan.Run, Worker: o.Worker, Planned: len(o.Plan.Trials)}
	w, err := newWorker(o)
	if err != nil {
		receipt.Failure = trial.AsFailure(err)
		return receipt
	}
	measuring, stop := ctx, context.CancelFunc(func() {})
	if o.Timeout > 0 {
		measuring, stop = context.WithDeadlineCause(ctx, w.started.Add(o.Timeout), errTimedOut)
	}
	defer stop()
	restored, err := w.measure(measuring)
	w.summary.Fail(err)
	receipt.Restored = restored
	receipt.SummaryDigest, err = w.finish(ctx)
	w.summary.Fail(err)
	receipt.Stored = len(w.uploads.stored)
	receipt.Failure = w.summary.Failure
	return receipt
}

// worker is one attempt.
type worker struct {
	Options
	worker  trial.Worker
	target  trial.Target
	keys    trial.Keys
	started time.Time
	summary *result.WorkerSummary
	// attempt counts the Pods of this worker, from 1.
	attempt int
	uploads *uploader
	// prepared has the workloads that are prepared, with why the precondition of one failed.
	prepared map[string]error
	// preconditions has what ran before the first trials of this attempt, by workload.
	preconditions map[string]*result.Precondition
	// failed has the workloads and variants whose remaining trials are skipped.
	failed map[trial.Cell]bool
	// requests observes those of the target's disks; nil: nothing does.
	requests *blockio.Collector
}

func newWorker(o Options) (*worker, error) {
	self, target, err := o.Plan.Worker(o.Worker)
	if err != nil {
		return nil, &trial.Failure{Class: reason.InvalidSpec, Message: err.Error(), Err: err}
	}
	uploads, err := newUploader(o)
	if err != nil {
		return nil, err
	}
	return &worker{
		Options:       o,
		worker:        self,
		target:        target,
		keys:          o.Plan.Keys(),
		started:       o.Clock.Now(),
		summary:       result.NewWorkerSummary(o.Plan, self),
		uploads:       uploads,
		prepared:      map[string]error{},
		preconditions: map[string]*result.Precondition{},
		failed:        map[trial.Cell]bool{},
	}, nil
}

// measure runs every trial that is not stored yet, and reports whether every setting of the
// node has its old value.
func (w *worker) measure(ctx context.Context) (restored bool, err error) {
	if w.target.Mode == trial.Block {
		if err := device.CheckBlock(w.TargetPath, targetField(w.target)); err != nil {
			return !w.Plan.SetsTunables(), err
		}
	}
	// Before it measures: a worker that was killed may have left the node changed.
	tuning, err := w.openTuning(ctx)
	if err != nil {
		return false, w.explain(ctx, err)
	}
	err = w.measureAll(ctx, tuning)
	restored, closeErr := tuning.close()
	return restored, errors.Join(err, closeErr)
}

func (w *worker) measureAll(ctx context.Context, tuning *tuning) error {
	if err := w.resume(ctx); err != nil {
		return w.explain(ctx, err)
	}
	tools := w.Engines.Tools(ctx)
	tools["storagebench"] = w.Version
	w.summary.Environment = environment.Collect(environment.Input{System: w.System, Path: w.TargetPath, Mode: w.target.Mode, Tools: tools})
	w.summary.Environment.Target.Class = w.target.Class
	tuning.describe(&w.summary.Environment.Target)
	defer w.openRequests()()
	if err := w.announce(ctx); err != nil {
		return w.explain(ctx, err)
	}
	claimed := w.target.Mode == trial.Block && w.claimedBefore()
	if stopping.Complete(w.Plan, w.worker.Target, w.Share, w.summary.Trials) && w.target.Mode == trial.Block && (w.target.Generated || !claimed) {
		return nil // on a file system, an earlier directory may have to be removed
	}
	target, err := openTarget(ctx, w.Plan, w.target, w.TargetPath, claimed)
	if err != nil {
		return w.explain(ctx, err)
	}
	if err = w.recordClaim(ctx, target); err == nil {
		err = w.trials(ctx, target, tuning)
	}
	if errors.Is(err, apart.ErrStuck) {
		// Closing the target would block this process too, because the storage does not
		// answer. The kernel closes it when the process ends, and a successor removes the
		// files.
		return w.explain(ctx, err)
	}
	closeErr := target.close(w.keepFiles(ctx))
	if closeErr == nil {
		w.forgetClaim(target)
	}
	return errors.Join(w.explain(ctx, err), closeErr)
}

// owner is this worker, as records on the node name it.
func (w *worker) owner() journal.Owner {
	return journal.Owner{Namespace: w.Plan.Benchmark.Namespace, Name: w.Plan.Benchmark.Name, Run: w.Plan.Run, Worker: w.worker.Name}
}

// keepFiles reports whether this attempt leaves its files behind. It does so only if it is
// stopped, when there is little time, and the volume was made for the run: its successor
// removes the files, or they are deleted with the volume.
func (w *worker) keepFiles(ctx context.Context) bool {
	stopped := ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimedOut)
	return stopped && w.target.Generated
}

// trials runs every trial that is left: those of the plan, or as many of them as its rule for
// stopping asks for.
func (w *worker) trials(ctx context.Context, target *target, tuning *tuning) error {
	if w.Plan.Stop != nil {
		return w.untilEnough(ctx, target, tuning)
	}
	for i, t := range w.Plan.Trials {
		switch {
		case w.summary.Has(t.ID):
			w.report(Event{Step: Reused, Trial: t, Index: i + 1})
			continue
		case w.failed[t.Cell()]:
			w.report(Event{Step: Skipped, Trial: t, Index: i + 1})
			continue
		}
		if err := w.oneTrial(ctx, target, tuning, t, i+1); err != nil {
			return err
		}
	}
	return nil
}

// untilEnough runs trials as long as the rule for stopping asks for one.
func (w *worker) untilEnough(ctx context.Context, target *target, tuning *tuning) error {
	for i, t := range w.summary.Trials {
		w.report(Event{Step: Reused, Trial: t.Trial, Index: i + 1})
	}
	for {
		decision := stopping.Decide(w.Plan, w.worker.Target, w.Share, w.summary.Trials)
		w.summary.Stopped = decision.Stopped
		if decision.Next == nil {
			break
		}
		if err := w.oneTrial(ctx, target, tuning, *decision.Next, len(w.summary.Trials)+1); err != nil {
			return err
		}
	}
	for _, s := range w.summary.Stopped {
		w.report(Event{Step: Enough, Trial: trial.Trial{ID: s.Name(), Workload: s.Workload, Variant: s.Variant, Repeat: s.Repeats}, Index: len(w.summary.Trials)})
	}
	return nil
}

func (w *worker) oneTrial(ctx context.Context, target *target, tuning *tuning, t trial.Trial, index int) error {
	w.baseline(ctx)
	document, more, err := w.trial(ctx, target, tuning, t, index)
	if err != nil {
		return err
	}
	if err := w.saveTrial(ctx, document, more); err != nil {
		return err
	}
	if f := document.Failure; f != nil && f.Class == reason.TunablesNotRestored {
		return f // the node is still changed, so nothing more is measured there
	}
	return nil
}

// saveTrial writes a trial's document to the spool, and uploads it if the store is reachable.
func (w *worker) saveTrial(ctx context.Context, d *result.Trial, more apartFrom) error {
	for _, o := range []struct {
		key   string
		body  []byte
		named **result.Object
	}{
		{w.keys.Raw(w.worker.Name, d.Trial.ID), more.raw, &d.Raw},
		{w.keys.Samples(w.worker.Name, d.Trial.ID), more.samples, &d.Samples},
	} {
		if len(o.body) == 0 {
			continue
		}
		object, err := w.uploads.add(ctx, o.key, o.body)
		if err != nil {
			return err
		}
		*o.named = &object
	}
	body, err := encodeTrial(d)
	if err != nil {
		return err
	}
	if d.Outcome == result.Failed {
		w.failed[d.Trial.Cell()] = true
	}
	object, err := w.uploads.add(ctx, w.keys.Trial(w.worker.Name, d.Trial.ID), w.SealingKey.Seal(body))
	if err != nil {
		return err
	}
	w.summary.Fold(d, object)
	return w.uploads.attempt(ctx)
}

// finish uploads what is still in the spool and the summary, and returns the summary's digest.
func (w *worker) finish(ctx context.Context) (string, error) {
	limit := finishGrace
	if w.Timeout > 0 {
		limit = max(limit, w.started.Add(w.Timeout).Sub(w.Clock.Now()))
	}
	if ctx.Err() != nil {
		limit = cmp.Or(w.StopGrace, stopGrace)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	w.report(Event{Step: Uploading, Index: len(w.summary.Trials)})
	err := w.uploads.drain(ctx)
	w.summary.Sort(w.Plan.Trials)
	w.summary.Fail(err)
	body, encodeErr := encode(w.summary, result.MaxWorkerSummary)
	if encodeErr != nil {
		return "", errors.Join(err, encodeErr)
	}
	object, addErr := w.uploads.add(ctx, w.keys.WorkerSummary(w.worker.Name), w.SealingKey.Seal(body))
	if err := errors.Join(err, addErr); err != nil {
		return "", err
	}
	return object.Digest, w.uploads.drain(ctx)
}

// explain returns why ctx ended as a failure, if it ended. If the node is still changed, that
// comes first.
func (w *worker) explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	done := fmt.Sprintf("%d of %d trials measured", len(w.summary.Trials), len(w.Plan.Trials))
	if w.Plan.Stop != nil {
		done = fmt.Sprintf("%d of at most %d trials measured", len(w.summary.Trials), len(w.Plan.Trials))
	}
	f := &trial.Failure{Class: reason.InternalError, Message: "the worker was stopped with " + done, Remedy: "start it again to continue after the last stored trial", Err: context.Cause(ctx)}
	if errors.Is(context.Cause(ctx), errTimedOut) {
		f = &trial.Failure{Class: reason.TimedOut, Field: "spec.timeout", Message: fmt.Sprintf("timed out after %s with %s", w.Timeout, done), Remedy: "raise it, or lower trials.min, the workloads' runtime or precondition.maxRounds", Err: errTimedOut}
	}
	f.Message += interruption(err)
	if errors.Is(err, apart.ErrStuck) {
		f.Err = errors.Join(f.Err, apart.ErrStuck)
	}
	if left, ok := errors.AsType[*trial.Failure](notRestored(err)); ok {
		both := *left
		both.Message += "; " + f.Message
		both.Err = errors.Join(left.Err, f)
		return &both
	}
	return f
}

func (w *worker) report(e Event) {
	if w.Progress == nil {
		return
	}
	e.Total = len(w.Plan.Trials)
	w.Progress(e)
}
