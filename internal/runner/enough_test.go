package runner

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// enoughBed is a bed with a plan that stops: workload a has a steady rate, b one that is not.
func enoughBed(t *testing.T) *bed {
	t.Helper()
	b := newBed(t)
	b.plan.Stop = &trial.Stop{Min: 6, Max: 12, HalfWidth: 0.05}
	b.plan.Trials = nil
	for repeat := 1; repeat <= 12; repeat++ {
		for _, w := range b.plan.Workloads {
			b.plan.Trials = append(b.plan.Trials, trial.Trial{ID: fmt.Sprintf("%s.r%03d", w.Name, repeat), Workload: w.Name, Repeat: repeat})
		}
	}
	b.engine.change = func(env workload.Env, m *result.Measurement) {
		rate := 1000.0
		if env.Workload.Name == "b" {
			rate += 400 * float64(env.Trial.Repeat%4)
		}
		m.Metrics.Set("read.iops", result.PerSecond, rate)
	}
	return b
}

func TestAWorkerEndsWithFewerTrialsThanPlannedIfTheyAreEnough(t *testing.T) {
	b := enoughBed(t)
	receipt := b.run(t.Context())
	if receipt.Failure != nil || receipt.Stored != 18 || receipt.Planned != 24 {
		t.Fatalf("the receipt is %+v, %v", receipt, receipt.Failure)
	}
	s := b.summary()
	want := []result.Stopped{{Cell: trial.Cell{Workload: "a"}, Repeats: 6, Reason: result.StopHalfWidth}}
	if !slices.Equal(s.Stopped, want) || s.Needed(b.plan) != 18 {
		t.Errorf("stopped %+v, %d were needed", s.Stopped, s.Needed(b.plan))
	}
	if !slices.Contains(b.steps, "a needs no more trials") || b.document("a.r001").Seconds <= 0 {
		t.Errorf("steps: %v", b.steps)
	}
	b.engine.ran = nil
	if again := b.run(t.Context()); again.Failure != nil || len(b.engine.ran) != 0 {
		t.Errorf("the second attempt ran %v: %+v", b.engine.ran, again)
	}
}

// killedAfter runs a worker that is killed after so many trials.
func (b *bed) killedAfter(trials int) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	n := 0
	b.engine.run = func(context.Context, workload.Env) error {
		if n++; n > trials {
			cancel()
		}
		return nil
	}
	if first := b.run(ctx); first.Failure == nil {
		b.t.Errorf("killed after %d trials, it has no failure", trials)
	}
	b.engine.run = nil
}

// Whenever a worker is killed, its successor runs what it would have run, and no more.
func TestAWorkerThatWasKilledStopsAtTheSameTrial(t *testing.T) {
	for kill := range 17 {
		b := enoughBed(t)
		b.killedAfter(kill)
		if receipt := b.run(t.Context()); receipt.Failure != nil || receipt.Stored != 18 {
			t.Errorf("killed after %d trials: %+v", kill, receipt)
		}
	}
}

// A worker with a share of its own spends that, and so does its successor, whenever it is killed.
func TestAWorkerThatWasKilledSpendsTheSameShare(t *testing.T) {
	for kill := range 14 {
		b := enoughBed(t)
		b.plan.Stop.HalfWidth, b.plan.Stop.BudgetSeconds = 0.001, 1 // the plan's share is for the least trials only
		clock, change := &evenClock{}, b.engine.change
		b.engine.change = func(env workload.Env, m *result.Measurement) {
			clock.minutes.Add(1) // each trial takes one
			change(env, m)
		}
		b.change = func(o *Options) { o.Clock, o.Share = clock, new(15*time.Minute) }
		b.killedAfter(kill)
		receipt := b.run(t.Context())
		want := []result.Stopped{
			{Cell: trial.Cell{Workload: "a"}, Repeats: 6, Reason: result.StopHalfWidth},
			{Cell: trial.Cell{Workload: "b"}, Repeats: 9, Reason: result.StopBudget},
		}
		if s := b.summary(); receipt.Failure != nil || receipt.Stored != 15 || !slices.Equal(s.Stopped, want) {
			t.Errorf("killed after %d trials: %+v, stopped %+v", kill, receipt, s.Stopped)
		}
	}
}

// evenClock is a clock by which only trials take time.
type evenClock struct {
	fakeClock
	minutes atomic.Int64
}

func (c *evenClock) Now() time.Time {
	return time.Unix(0, 0).Add(time.Duration(c.minutes.Load()) * time.Minute)
}
