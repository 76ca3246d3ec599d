package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/steady"
	"storagebench.io/storagebench/internal/stopping"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/apart"
)

// precondition runs the workload in rounds that are not measured, until the last of them are steady or
// there are as many as the plan allows. d, which is the document of the workload's first trial, records them,
// also those before one that failed.
func (w *worker) precondition(ctx context.Context, engine workload.Engine, env workload.Env, d *result.Trial, index int) error {
	plan := env.Workload.Precondition
	work, err := env.Workload.At(plan.Rate)
	if err != nil {
		return err
	}
	env.Workload = work
	began, done := w.Clock.Now(), &result.Precondition{MaxRounds: plan.MaxRounds, Offered: plan.Rate}
	d.Precondition = done
	defer func() { done.Seconds = max(0, w.Clock.Now().Sub(began).Seconds()) }()
	expected, _ := engine.Estimate(work.Config) // 0 if the duration is unknown
	for round := 1; round <= plan.MaxRounds; round++ {
		w.report(Event{Step: Preconditioning, Trial: d.Trial, Index: index, Round: round, MaxRounds: plan.MaxRounds, Expected: expected.Duration})
		m, err := w.round(ctx, engine, env, round)
		if err == nil && !done.Add(rateOf(m), m.Metrics) && plan.Judged {
			err = noRate(env, m)
		}
		if err != nil {
			return inRound(env, round, err)
		}
		if plan.Judged && steady.Reached(done.Rates) {
			break
		}
	}
	if plan.Judged {
		done.Steady = new(steady.Reached(done.Rates))
		w.preconditions[env.Workload.Name] = done
	}
	return nil
}

// round runs one round as a trial is run, with what is done before a trial and after it, so that rounds
// find the storage as trials do. Its seed is no trial's.
func (w *worker) round(ctx context.Context, engine workload.Engine, env workload.Env, round int) (*result.Measurement, error) {
	env.Trial = trial.Trial{ID: fmt.Sprintf("%s.p%03d", env.Workload.Name, round), Workload: env.Workload.Name, Repeat: -round, Rate: env.Workload.Precondition.Rate}
	env.Scratch = filepath.Join(w.Scratch, env.Trial.ID)
	if err := os.MkdirAll(env.Scratch, 0o700); err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	defer func() { _ = os.RemoveAll(env.Scratch) }() // what stays goes with the Pod
	m, err := w.runRound(ctx, engine, env)
	if ctx.Err() == nil && !errors.Is(err, apart.ErrStuck) {
		err = errors.Join(err, w.clean(ctx, engine, env))
	}
	return m, errors.Join(err, ctx.Err())
}

func (w *worker) runRound(ctx context.Context, engine workload.Engine, env workload.Env) (*result.Measurement, error) {
	if env.Device != "" {
		if err := device.DropCache(env.Device); err != nil {
			return nil, env.Unusable(err)
		}
	}
	w.waitForIdle(ctx, w.watch(w.targetOf(nil)))
	expected, _ := engine.Estimate(env.Workload.Config)
	limited, cancel := w.limitTrial(ctx, expected.Duration)
	defer cancel()
	var m *result.Measurement
	var err error
	_, elapsed := apart.Quietly(func() { m, err = engine.Run(limited, env) })
	switch {
	case ctx.Err() == nil && errors.Is(context.Cause(limited), errHangs):
		return nil, hangs(env, expected.Duration, elapsed, err)
	case err != nil:
		return nil, err
	case m == nil:
		return &result.Measurement{}, w.drain(ctx, env)
	}
	return m, w.drain(ctx, env)
}

// rateOf returns the metric of a round that is to become steady. A workload whose operations are a mixture of
// its jobs has none.
func rateOf(m *result.Measurement) string {
	if m.PartsOnly {
		return ""
	}
	return stopping.Primary(m.Operations, m.Metrics)
}

// noRate is the failure of a round that tells nothing about whether the storage is steady.
func noRate(env workload.Env, m *result.Measurement) error {
	f := &trial.Failure{
		Class: reason.WorkloadFailed, Field: env.Field("precondition"), Workload: env.Workload.Name,
		Message: "it has no rate that could become steady",
		Remedy:  fmt.Sprintf("set maxRounds below %d for a plain warm-up", steady.Rounds),
	}
	if m.PartsOnly {
		f.Message = "its jobs run one after the other, so that it has no rate of its own that could become steady"
		f.Remedy = "make a workload of each job, or " + f.Remedy
	}
	return f
}

// inRound says in which round of a precondition a workload failed.
func inRound(env workload.Env, round int, err error) error {
	f := *trial.AsFailure(err)
	f.Message = fmt.Sprintf("in round %d of the precondition of %s: %s", round, env.Workload.Name, f.Message)
	f.Err = err
	return &f
}
