package main

import (
	"context"
	"errors"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stopping"
	"storagebench.io/storagebench/internal/store"
)

// share returns what a worker, by its position in the plan, may spend of the run's budget, as the
// operator computes it: nil if there is none. It depends on stored summaries alone, so a run that is
// continued comes to the same shares.
func (r *localRun) share(ctx context.Context, position int) (*time.Duration, error) {
	if !r.plan.HasBudget() {
		return nil, nil
	}
	var before, after time.Duration
	for i, w := range r.plan.Workers {
		if i == position {
			continue
		}
		spent, err := r.spent(ctx, w.Name)
		if err != nil {
			return nil, err
		}
		if i < position {
			before += spent
		} else {
			after += spent
		}
	}
	share := stopping.Share(r.plan, before, len(r.plan.Workers)-position)
	// Workers behind this one have measured already if an earlier attempt went on after this one had
	// failed. What they spent is gone.
	left := stopping.Share(r.plan, before+after, 1)
	return new(min(*share, *left)), nil
}

// spent returns how long the stored trials of a worker took. A summary that cannot be read counts as
// none, as it does for the worker, which writes another one.
func (r *localRun) spent(ctx context.Context, worker string) (time.Duration, error) {
	body, err := r.store.Get(ctx, r.plan.Keys().WorkerSummary(worker))
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	s, err := result.DecodeWorkerSummary(body, "")
	if err != nil {
		return 0, nil //nolint:nilerr // see above
	}
	return stopping.Spent(s.Trials), nil
}
