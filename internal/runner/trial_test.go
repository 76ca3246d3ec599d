package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/apart"
)

func TestATrialWhoseDocumentIsTooLargeFailsAlone(t *testing.T) {
	b := newBed(t)
	b.engine.change = func(env workload.Env, m *result.Measurement) {
		for range map[bool]int{true: result.MaxTrial >> 15}[env.Trial.ID == "a.r002"] {
			m.Notes = append(m.Notes, strings.Repeat("x", 48<<10))
		}
	}
	receipt := b.run(t.Context())
	if f := receipt.Failure; f == nil || f.Class != reason.LimitExceeded || f.Workload != "a" || f.Field != "spec.workloads[a].fake" || f.Remedy == "" {
		t.Errorf("the failure is %+v", f)
	}
	if want := []string{"a.r001", "b.r001", "a.r002", "b.r002", "b.r003"}; !slices.Equal(b.engine.ran, want) || receipt.Stored != 5 {
		t.Errorf("ran %v, stored %d", b.engine.ran, receipt.Stored)
	}
	if d := b.document("a.r002"); d.Outcome != result.Failed || d.Raw == nil || len(d.Notes) != 0 {
		t.Errorf("the document is %+v", d)
	}
}

// Nothing else is measured beside a process that nobody can kill, and the message says so,
// whatever ended the trial.
func TestAnEngineThatCannotBeKilledEndsTheWorker(t *testing.T) {
	for name, c := range map[string]struct {
		class   trial.Class
		message string
		change  func(*Options)
		stop    bool
	}{
		"its trial hangs":       {class: reason.WorkloadFailed, message: "was expected to take 1s", change: func(o *Options) { o.TrialGrace = 100 * time.Millisecond }},
		"the worker times out":  {class: reason.TimedOut, message: "timed out after", change: func(o *Options) { o.Timeout = 2 * time.Second; o.TrialGrace = time.Hour }},
		"the worker is stopped": {class: reason.InternalError, message: "the worker was stopped", stop: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // however long the disk takes
				b := newBed(t)
				b.change = c.change
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				b.engine.run = func(ctx context.Context, env workload.Env) error {
					if env.Trial.ID != "a.r002" {
						return nil
					}
					if c.stop {
						stop()
					}
					<-ctx.Done()
					return &apart.Interrupted{Cause: ctx.Err(), Stuck: true, Words: "the disk is slow"}
				}
				receipt := b.run(ctx)
				f := receipt.Failure
				if f == nil || f.Class != c.class {
					t.Fatalf("%+v, %+v", receipt, f)
				}
				for _, want := range []string{c.message, "did not end within", "it printed: the disk is slow"} {
					if !strings.Contains(f.Message, want) {
						t.Errorf("the message lacks %q: %s", want, f.Message)
					}
				}
				if want := allTrials[:3]; !slices.Equal(b.engine.ran, want) || receipt.Stored != 2 {
					t.Errorf("ran %v, stored %d", b.engine.ran, receipt.Stored)
				}
			})
		})
	}
}

// testClock is a clock that a test advances.
type testClock struct {
	fakeClock
	now time.Time
}

func (c *testClock) Now() time.Time { return c.now }

// The kernel's counters grow from one reading to the next, however long the engine measured.
func TestTheQueueDepthIsOfTheTimeBetweenTheReadings(t *testing.T) {
	root, clock := t.TempDir(), &testClock{now: time.Now()}
	stat := filepath.Join(root, "sys/block/sda/stat")
	write := func(weighted int) {
		t.Helper()
		text := fmt.Sprintf("0 0 0 0 0 0 0 0 0 0 %d 0 0 0 0 0 0", weighted)
		if err := errors.Join(os.MkdirAll(filepath.Dir(stat), 0o700), os.WriteFile(stat, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(0)
	b := newBed(t)
	w, err := newWorker(Options{Plan: b.plan, Worker: b.plan.Workers[0].Name, Spool: b.spool, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	w.System.Root = root
	w.summary.Environment = &result.Environment{Target: result.TargetEnvironment{Devices: []result.Device{{Name: "sda"}}}}
	b.engine.change = func(_ workload.Env, m *result.Measurement) {
		m.Elapsed = time.Second
		clock.now = clock.now.Add(4 * time.Second)
		write(8000)
	}
	m, _, err := w.execute(t.Context(), b.engine, workload.Env{Dir: t.TempDir(), Scratch: t.TempDir()}, &result.Trial{Trial: b.plan.Trials[0]}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Metrics["device.queue.depth"].Value; got != 2 {
		t.Errorf("it is %v, want 8 s of requests in 4 s", got)
	}
}

func TestTrimsCountUntilSomebodyMayHaveWritten(t *testing.T) {
	did := func(workload, metric string) result.TrialSummary {
		s := result.TrialSummary{Trial: trial.Trial{Workload: workload}, Metrics: result.Metrics{}}
		s.Metrics.Set(metric, result.Bytes, 10)
		return s
	}
	trims, writes, other := did("w", "trim.bytes"), did("w", "write.bytes"), did("v", "read.bytes")
	for _, c := range []struct {
		trials []result.TrialSummary
		want   float64
	}{
		{nil, 0}, {[]result.TrialSummary{trims, trims}, 20}, {[]result.TrialSummary{trims, writes, trims}, 10}, {[]result.TrialSummary{trims, other}, 0},
	} {
		if got := trimmedBefore(c.trials, "w"); got != c.want {
			t.Errorf("%d trials: %g, want %g", len(c.trials), got, c.want)
		}
	}
}
