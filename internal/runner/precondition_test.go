package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/verdict"
	"storagebench.io/storagebench/internal/workload"
)

// preconditioned is a bed whose workload a has a precondition; the rates of its rounds are those of curve.
func preconditioned(t *testing.T, maxRounds int, curve func(round int) float64) *bed {
	t.Helper()
	b := newBed(t)
	b.plan.Workloads[0].Precondition = &trial.Precondition{MaxRounds: maxRounds, Judged: maxRounds >= 5}
	b.engine.change = func(env workload.Env, m *result.Measurement) {
		if env.Trial.Repeat < 0 {
			m.Metrics.Set("read.iops", result.PerSecond, curve(-env.Trial.Repeat))
		}
	}
	return b
}

// rounds are the trials that were rounds of a precondition.
func (b *bed) rounds() []string {
	return slices.DeleteFunc(slices.Clone(b.engine.ran), func(id string) bool { return !strings.HasPrefix(id, "a.p") })
}

func hasVerdict(d *result.Trial) bool {
	return slices.ContainsFunc(d.Verdicts, func(v result.Verdict) bool { return v.Name == verdict.NotSteady })
}

func flat(int) float64 { return 100 }

func TestTheFirstTrialWaitsUntilTheRoundsAreSteady(t *testing.T) {
	b := preconditioned(t, 25, func(round int) float64 { return map[bool]float64{true: 900, false: 100}[round <= 3] })
	receipt := b.run(t.Context())
	if receipt.Failure != nil || receipt.Stored != 6 {
		t.Fatalf("%+v", receipt)
	}
	if want := []string{"a.p001", "a.p002", "a.p003", "a.p004", "a.p005", "a.p006", "a.p007", "a.p008"}; !slices.Equal(b.rounds(), want) || !slices.Equal(b.engine.ran[:8], want) {
		t.Errorf("ran %v", b.engine.ran)
	}
	want := &result.Precondition{
		MaxRounds: 25, Rounds: 8, Metric: "read.iops", Unit: result.PerSecond,
		Rates: []float64{900, 900, 900, 100, 100, 100, 100, 100}, Steady: new(true),
	}
	got := b.document("a.r001").Precondition
	got.Seconds = 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, s := range b.summary().Trials {
		if (s.Precondition != nil) != (s.ID == "a.r001") {
			t.Errorf("%s has the precondition %+v", s.ID, s.Precondition)
		}
	}
	if hasVerdict(b.document("a.r001")) {
		t.Error("it was steady and has the verdict NotSteady")
	}
	for _, step := range []string{"a.r001 preparing", "a.r001 preconditioning", "a.r001 running"} {
		if !slices.Contains(b.steps, step) {
			t.Errorf("%q is missing in %v", step, b.steps)
		}
	}
}

func TestEveryTrialOfAWorkloadThatWasNeverSteadySaysSo(t *testing.T) {
	b := preconditioned(t, 6, func(round int) float64 { return 1000 / float64(round) })
	if receipt := b.run(t.Context()); receipt.Failure != nil || receipt.Stored != 6 {
		t.Fatalf("%+v", receipt)
	}
	if len(b.rounds()) != 6 {
		t.Errorf("ran %v", b.rounds())
	}
	for _, id := range allTrials {
		if d := b.document(id); hasVerdict(d) != (d.Trial.Workload == "a") {
			t.Errorf("%s has the verdicts %+v", id, d.Verdicts)
		}
	}
	for _, v := range b.document("a.r002").Verdicts {
		if v.Name == verdict.NotSteady && (v.Effect != result.Qualifies || v.Evidence["rounds"].Value != 6 || v.Evidence["rounds.range"].Value < 0.2 || !strings.Contains(v.Sentence, "the last 5 of 6 rounds")) {
			t.Errorf("%+v", v)
		}
	}
}

func TestAPlainWarmUpClaimsNothing(t *testing.T) {
	b := preconditioned(t, 3, func(round int) float64 { return 1000 / float64(round) })
	if receipt := b.run(t.Context()); receipt.Failure != nil {
		t.Fatalf("%+v", receipt)
	}
	d := b.document("a.r001")
	if p := d.Precondition; len(b.rounds()) != 3 || p.Steady != nil || len(p.Rates) != 3 || hasVerdict(d) {
		t.Errorf("ran %v: %+v, %+v", b.rounds(), p, d.Verdicts)
	}
	// It needs no rate either.
	b = preconditioned(t, 2, flat)
	b.engine.change = func(_ workload.Env, m *result.Measurement) { m.Metrics = result.Metrics{} }
	if receipt := b.run(t.Context()); receipt.Failure != nil || b.document("a.r001").Precondition.Rounds != 2 {
		t.Errorf("%+v", receipt)
	}
}

// As a failed preparation does, it fails the workload and no other.
func TestARoundThatFailsFailsItsWorkload(t *testing.T) {
	for name, c := range map[string]struct {
		run    func(env workload.Env) error
		change func(env workload.Env, m *result.Measurement)
		clean  func(env workload.Env) error
		want   string
	}{
		"the engine fails": {run: func(env workload.Env) error {
			if env.Trial.ID == "a.p002" {
				return &trial.Failure{Class: reason.WorkloadFailed, Message: "no space left"}
			}
			return nil
		}, want: "in round 2 of the precondition of a: no space left"},
		"it cannot clean up": {clean: func(env workload.Env) error {
			if env.Trial.ID == "a.p002" {
				return errors.New("permission denied")
			}
			return nil
		}, want: "in round 2 of the precondition of a: permission denied"},
		"it has no rate": {change: func(env workload.Env, m *result.Measurement) {
			if env.Workload.Name == "a" {
				m.Metrics = result.Metrics{"sync.latency.p99": {Unit: result.Seconds, Value: 1}}
			}
		}, want: "in round 1 of the precondition of a: it has no rate"},
		"its jobs are a mixture": {change: func(env workload.Env, m *result.Measurement) {
			m.PartsOnly = env.Workload.Name == "a"
		}, want: "its jobs run one after the other"},
	} {
		t.Run(name, func(t *testing.T) {
			b := preconditioned(t, 9, flat)
			b.engine.clean = c.clean
			if c.change != nil {
				b.engine.change = c.change
			}
			b.engine.run = func(_ context.Context, env workload.Env) error {
				if c.run == nil {
					return nil
				}
				return c.run(env)
			}
			receipt := b.run(t.Context())
			if f := receipt.Failure; f == nil || f.Workload != "a" || !strings.Contains(f.Message, c.want) {
				t.Errorf("the failure is %+v", f)
			}
			if receipt.Stored != 4 { // a.r001, which failed, and those of b
				t.Errorf("stored %d, ran %v", receipt.Stored, b.engine.ran)
			}
			if d := b.document("a.r001"); d.Outcome != result.Failed || d.Precondition == nil || d.Precondition.MaxRounds != 9 {
				t.Errorf("%+v", d.Precondition)
			}
		})
	}
}

// The rounds of a workload are those of all of its variants: they may take hours, and do not fail again
// and again.
func TestARoundThatFailsFailsEveryVariant(t *testing.T) {
	for name, change := range map[string]func(*trial.Plan){
		"all trials":          func(*trial.Plan) {},
		"a rule for stopping": func(p *trial.Plan) { p.Stop = &trial.Stop{Min: 2, Max: 2, HalfWidth: 0.05} },
	} {
		t.Run(name, func(t *testing.T) {
			b, _, _ := newTunedBed(t)
			b.plan.Workloads[0].Precondition = &trial.Precondition{MaxRounds: 9, Judged: true}
			b.engine.change = func(_ workload.Env, m *result.Measurement) { m.Metrics.Set("read.iops", result.PerSecond, 100) }
			change(b.plan)
			b.engine.run = func(_ context.Context, env workload.Env) error {
				if env.Trial.ID == "a.p003" {
					return errors.New("input/output error")
				}
				return nil
			}
			receipt := b.run(t.Context())
			if f := receipt.Failure; f == nil || f.Workload != "a" {
				t.Errorf("the failure is %+v", f)
			}
			if want := []string{"a.p001", "a.p002", "a.p003"}; !slices.Equal(b.rounds(), want) {
				t.Errorf("the rounds %v", b.rounds())
			}
			failed := 0
			for _, s := range b.summary().Trials {
				if s.Workload != "a" {
					continue
				}
				failed++
				d := b.document(s.ID)
				if d.Outcome != result.Failed || !strings.Contains(d.Failure.Message, "in round 3 of the precondition of a: ") || (d.Precondition != nil) != (failed == 1) {
					t.Errorf("%s: %+v, %+v", s.ID, d.Failure, d.Precondition)
				}
			}
			if failed != 2 {
				t.Errorf("%d trials of a failed; each variant must have one", failed)
			}
		})
	}
}

func TestARoundIsCleanedUpAfterAsATrialIs(t *testing.T) {
	b := preconditioned(t, 2, flat)
	var cleaned []string
	b.engine.clean = func(env workload.Env) error { cleaned = append(cleaned, env.Trial.ID); return nil }
	var scratch []string
	b.engine.run = func(_ context.Context, env workload.Env) error { scratch = append(scratch, env.Scratch); return nil }
	if receipt := b.run(t.Context()); receipt.Failure != nil {
		t.Fatalf("%+v", receipt)
	}
	if !slices.Equal(cleaned[:3], []string{"a.p001", "a.p002", "a.r001"}) {
		t.Errorf("cleaned up after %v", cleaned)
	}
	for _, dir := range scratch {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
	if left := b.left(); len(left) != 0 {
		t.Errorf("left on the target: %v", left)
	}
}

// What ends a worker ends a round, too.
func TestARoundEndsWhenItsWorkerDoes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		stop   bool
		class  trial.Class
		want   string
		stored int
	}{
		"it hangs":      {change: func(o *Options) { o.TrialGrace = 100 * time.Millisecond }, class: reason.WorkloadFailed, want: "in round 2 of the precondition of a: fake was stopped", stored: 4},
		"it times out":  {change: func(o *Options) { o.Timeout, o.TrialGrace = 2*time.Second, time.Hour }, class: reason.TimedOut, want: "timed out after 2s with 0 of 6 trials"},
		"it is stopped": {stop: true, class: reason.InternalError, want: "the worker was stopped with 0 of 6 trials"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := preconditioned(t, 9, flat)
				b.change = c.change
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				b.engine.run = func(ctx context.Context, env workload.Env) error {
					if env.Trial.ID != "a.p002" {
						return nil
					}
					if c.stop {
						stop()
					}
					<-ctx.Done()
					return ctx.Err()
				}
				receipt := b.run(ctx)
				if f := receipt.Failure; f == nil || f.Class != c.class || !strings.Contains(f.Message, c.want) || receipt.Stored != c.stored {
					t.Errorf("%+v, stored %d", f, receipt.Stored)
				}
			})
		})
	}
}

// A worker that goes on has laid its files out anew, so it runs its rounds again.
func TestAnotherAttemptRunsItsRoundsAgain(t *testing.T) {
	b := preconditioned(t, 2, flat)
	ctx, stop := context.WithCancel(t.Context())
	b.engine.run = func(_ context.Context, env workload.Env) error {
		if env.Trial.ID == "a.r002" {
			stop()
		}
		return nil
	}
	if receipt := b.run(ctx); receipt.Failure == nil {
		t.Fatal("it was stopped and has no failure")
	}
	b.engine.run = nil
	if receipt := b.run(t.Context()); receipt.Failure != nil || receipt.Stored != 6 {
		t.Fatalf("%+v", receipt)
	}
	for id, want := range map[string]bool{"a.r001": true, "a.r002": true, "a.r003": false} {
		if got := b.document(id).Precondition != nil; got != want {
			t.Errorf("%s has a precondition: %t", id, got)
		}
	}
	if len(b.rounds()) != 4 {
		t.Errorf("ran %v", b.rounds())
	}
}

// The rounds of a search offer its highest rate, and no round has the seed of a trial or of another round.
func TestRoundsAreNoTrials(t *testing.T) {
	b := preconditioned(t, 4, flat)
	b.plan.Workloads[0].Config = []byte(`{"offeredRate":50}`)
	b.plan.Workloads[0].Precondition.Rate = 5000
	seeds, rates := map[uint32]string{}, map[string]string{}
	b.engine.run = func(_ context.Context, env workload.Env) error {
		if other, ok := seeds[env.Seed()]; ok {
			t.Errorf("%s has the seed of %s", env.Trial.ID, other)
		}
		seeds[env.Seed()], rates[env.Trial.ID] = env.Trial.ID, fmt.Sprint(string(env.Workload.Config), env.Trial.Rate)
		return nil
	}
	if receipt := b.run(t.Context()); receipt.Failure != nil {
		t.Fatalf("%+v", receipt)
	}
	if rates["a.p004"] != `{"offeredRate":5000}5000` || rates["a.r001"] != `{"offeredRate":50}0` {
		t.Errorf("offered %v", rates)
	}
	if got := b.document("a.r001").Precondition.Offered; got != 5000 {
		t.Errorf("the document has %d", got)
	}
}
