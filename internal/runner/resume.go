package runner

import (
	"context"
	"errors"
	"fmt"
	"os"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// resume reads what earlier attempts stored. Each attempt stores a summary when it starts, so
// if there is no summary, there are no trials either.
func (w *worker) resume(ctx context.Context) error {
	if err := w.uploads.recover(ctx); err != nil {
		return err
	}
	earlier, err := w.earlier(ctx)
	if err != nil || earlier == nil {
		return err
	}
	w.summary.Attempts = earlier.Attempts
	for _, t := range w.Plan.Trials {
		d, object, err := w.stored(ctx, t)
		if err != nil {
			return err
		}
		if d == nil {
			continue
		}
		if d.Outcome == result.Failed {
			w.failed[t.Cell()] = true
		}
		w.summary.Fold(d, object)
		w.uploads.stored[object.Key] = true
	}
	return nil
}

// earlier returns the worker's summary of an earlier attempt, or nil.
func (w *worker) earlier(ctx context.Context) (*result.WorkerSummary, error) {
	body, err := w.uploads.get(ctx, w.keys.WorkerSummary(w.worker.Name), result.MaxWorkerSummary)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if errors.Is(err, store.ErrTooLarge) {
		w.Log.Warn("summary of an earlier attempt rejected", "error", err)
		return result.NewWorkerSummary(w.Plan, w.worker), nil
	}
	if err != nil {
		return nil, err
	}
	if !w.SealingKey.Sealed(body) {
		w.Log.Warn("the summary that lies in the place of an earlier attempt's does not have this worker's seal")
		return result.NewWorkerSummary(w.Plan, w.worker), nil
	}
	s, err := result.DecodeWorkerSummary(body, "")
	if err == nil {
		err = s.CheckWorker(w.Plan, w.worker)
	}
	if err != nil {
		// Each trial is read from the store by itself. Only the list of attempts is lost.
		w.Log.Warn("summary of an earlier attempt rejected", "error", err)
		return result.NewWorkerSummary(w.Plan, w.worker), nil
	}
	return s, nil
}

// stored returns a trial's document if the store has it and it belongs to this run.
func (w *worker) stored(ctx context.Context, t trial.Trial) (*result.Trial, result.Object, error) {
	key := w.keys.Trial(w.worker.Name, t.ID)
	body, err := w.uploads.get(ctx, key, result.MaxTrial)
	if errors.Is(err, store.ErrTooLarge) {
		w.Log.Warn("a stored trial is too large and is run again", "trial", t.ID, "error", err)
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrTooLarge) {
		return nil, result.Object{}, nil
	}
	if err != nil {
		return nil, result.Object{}, err
	}
	if !w.SealingKey.Sealed(body) {
		w.Log.Warn("a stored trial does not have this worker's seal and is run again", "trial", t.ID)
		return nil, result.Object{}, nil
	}
	d, err := result.DecodeTrial(body, "")
	if err != nil {
		w.Log.Warn("a stored trial cannot be read and is run again", "trial", t.ID, "error", err)
		return nil, result.Object{}, nil
	}
	if !d.BelongsTo(w.Plan, w.worker, t) {
		w.Log.Warn("a stored trial belongs to another run and is run again", "trial", t.ID, "run", d.Run)
		return nil, result.Object{}, nil
	}
	return d, result.Object{Key: key, Bytes: len(body), Digest: trial.Digest(body)}, nil
}

// keptAttempts bounds the list of attempts in the summary. The oldest are dropped.
const keptAttempts = 100

// announce records the attempt in the store before it measures anything.
func (w *worker) announce(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	w.attempt = 1
	if n := len(w.summary.Attempts); n > 0 {
		w.attempt = w.summary.Attempts[n-1].Number + 1
		w.summary.Attempts = w.summary.Attempts[max(0, n-keptAttempts+1):]
	}
	w.summary.Attempts = append(w.summary.Attempts, result.Attempt{
		Number:       w.attempt,
		Host:         host,
		StartedAt:    w.started,
		ResumedAfter: len(w.summary.Trials),
	})
	return w.storeSummary(ctx)
}

func (w *worker) storeSummary(ctx context.Context) error {
	body, err := encode(w.summary, result.MaxWorkerSummary)
	if err != nil {
		return err
	}
	if _, err := w.uploads.add(ctx, w.keys.WorkerSummary(w.worker.Name), w.SealingKey.Seal(body)); err != nil {
		return err
	}
	return w.uploads.waitForStore(ctx)
}
