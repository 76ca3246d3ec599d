package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable/tunabletest"
	"storagebench.io/storagebench/internal/workload"
)

const (
	expire    = "/proc/sys/vm/dirty_expire_centisecs"
	pressure  = "/proc/sys/vm/vfs_cache_pressure"
	writeback = "/proc/sys/vm/dirty_writeback_centisecs"
)

// newTunedBed has one workload and two variants, of which the second changes two
// settings of a kernel in memory. seen are those settings during each trial.
func newTunedBed(t *testing.T) (b *bed, kernel *tunabletest.Kernel, seen map[string]string) {
	t.Helper()
	kernel, seen = tunabletest.New(), map[string]string{}
	b = newBed(t)
	b.plan.Workloads = b.plan.Workloads[:1]
	b.plan.Variants = []trial.Variant{{Name: "control"}, {Name: "tuned", Tunables: []trial.Tunable{
		{Name: "vm.dirty_expire_centisecs", Value: "100"}, {Name: "vm.vfs_cache_pressure", Value: "50"},
	}}}
	b.plan.Trials = nil
	for repeat, variant := range []string{"control", "tuned", "tuned", "control"} {
		b.plan.Trials = append(b.plan.Trials, trial.Trial{ID: fmt.Sprintf("a.%s.r%03d", variant, repeat/2+1), Workload: "a", Variant: variant, Repeat: repeat/2 + 1})
	}
	b.engine.run = func(_ context.Context, env workload.Env) error {
		seen[env.Trial.ID] = kernel.Get(expire) + " " + kernel.Get(pressure)
		return nil
	}
	dir := t.TempDir()
	b.change = func(o *Options) { o.Journal, o.Host = dir, kernel.Host() }
	return b, kernel, seen
}

func settings(k *tunabletest.Kernel) string { return k.Get(expire) + " " + k.Get(pressure) }

func TestSettingsAreMadeForTheTrialsOfTheirVariantAndPutBackAfterEach(t *testing.T) {
	b, kernel, seen := newTunedBed(t)
	receipt := b.run(t.Context())
	if receipt.Failure != nil || receipt.Stored != 4 || !receipt.Restored {
		t.Errorf("the receipt is %+v", receipt)
	}
	for id, want := range map[string]string{"a.control.r001": "3000 100", "a.tuned.r001": "100 50", "a.tuned.r002": "100 50", "a.control.r002": "3000 100"} {
		if seen[id] != want {
			t.Errorf("during %s: %q, want %q", id, seen[id], want)
		}
	}
	if got := settings(kernel); got != "3000 100" {
		t.Errorf("left: %s", got)
	}
	if len(b.engine.prepared) != 1 {
		t.Errorf("prepared %v: once is for all variants", b.engine.prepared)
	}
	d := b.document("a.tuned.r001")
	want := result.Tunable{Name: "vm.dirty_expire_centisecs", Asked: "100", Before: "3000", During: "100", Restored: true}
	i := slices.IndexFunc(d.Tunables, func(x result.Tunable) bool { return x.Name == want.Name })
	if len(d.Tunables) != 2 || i < 0 || d.Tunables[i].Restoring == "" {
		t.Fatalf("the document has %+v", d.Tunables)
	}
	if d.Tunables[i].Restoring = ""; d.Tunables[i] != want {
		t.Errorf("got %+v, want %+v", d.Tunables[i], want)
	}
	if n := len(b.document("a.control.r001").Tunables); n != 0 {
		t.Errorf("the control has %d settings", n)
	}
	pools := map[string]uint64{}
	for _, p := range b.summary().Workloads {
		pools[p.Variant] = p.Histograms["read"].Count()
	}
	if pools["control"] != 20 || pools["tuned"] != 20 {
		t.Errorf("histograms of %v", pools)
	}
}

func TestASettingThatIsRefusedFailsItsVariantAndChangesNothing(t *testing.T) {
	b, kernel, seen := newTunedBed(t)
	kernel.Refuse = func(name string) error {
		if name == pressure && kernel.Get(pressure) == "100" {
			return errors.New("the kernel says no")
		}
		return nil
	}
	receipt := b.run(t.Context())
	f := receipt.Failure
	if f == nil || f.Class != reason.TunableNotApplied || !strings.HasPrefix(f.Field, "spec.variants[tuned].tunables[1]") || !strings.Contains(f.Message, "the kernel says no") {
		t.Fatalf("the failure is %+v", f)
	}
	if !receipt.Restored || settings(kernel) != "3000 100" {
		t.Errorf("restored: %v, left: %s", receipt.Restored, settings(kernel))
	}
	if len(seen) != 2 || seen["a.control.r002"] == "" {
		t.Errorf("measured: %v, want both of the control", seen)
	}
}

func TestAWorkloadThatFailsOrIsStoppedIsNoReasonToLeaveASettingChanged(t *testing.T) {
	b, kernel, _ := newTunedBed(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.engine.run = func(_ context.Context, env workload.Env) error {
		if env.Trial.Variant == "tuned" {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	if receipt := b.run(ctx); !receipt.Restored || settings(kernel) != "3000 100" {
		t.Errorf("stopped: %+v, left: %s", receipt, settings(kernel))
	}
	b, kernel, _ = newTunedBed(t)
	b.engine.run = func(_ context.Context, env workload.Env) error {
		if env.Trial.Variant == "tuned" {
			return errors.New("broken")
		}
		return nil
	}
	if receipt := b.run(t.Context()); receipt.Failure == nil || !receipt.Restored || settings(kernel) != "3000 100" {
		t.Errorf("failed: %+v, left: %s", receipt, settings(kernel))
	}
}

func TestASettingThatSomebodyElseHasChangedIsLeftAndEndsTheWorker(t *testing.T) {
	b, kernel, _ := newTunedBed(t)
	b.engine.run = func(_ context.Context, env workload.Env) error {
		if env.Trial.Variant == "tuned" {
			kernel.Set(expire, "777")
		}
		return nil
	}
	receipt := b.run(t.Context())
	if receipt.Restored || receipt.Failure == nil || receipt.Failure.Class != reason.TunablesNotRestored || !strings.Contains(receipt.Failure.Message, "777") {
		t.Errorf("the receipt is %+v", receipt)
	}
	if got := settings(kernel); got != "777 100" {
		t.Errorf("left: %s", got)
	}
	if len(b.engine.ran) != 2 {
		t.Errorf("it went on measuring: %v", b.engine.ran)
	}
	// Nor does the next worker touch the node.
	b.engine.ran = nil
	if receipt := b.run(t.Context()); receipt.Restored || receipt.Failure.Class != reason.TunablesNotRestored || len(b.engine.ran) != 0 {
		t.Errorf("the next: %+v, ran %v", receipt, b.engine.ran)
	}
}

// Whatever else ends the worker, the receipt says that the node is not as it was.
func TestNothingHidesASettingThatIsLeftChanged(t *testing.T) {
	for name, c := range map[string]struct {
		run     func(ctx context.Context, stop func(), env workload.Env) error
		timeout time.Duration
		also    string
	}{
		"it was stopped": {also: "the worker was stopped", run: func(ctx context.Context, stop func(), env workload.Env) error {
			if env.Trial.Variant == "tuned" {
				stop()
			}
			return ctx.Err()
		}},
		"it timed out": {also: "timed out", timeout: 2 * time.Second, run: func(ctx context.Context, _ func(), env workload.Env) error {
			if env.Trial.Variant == "tuned" {
				<-ctx.Done()
			}
			return ctx.Err()
		}},
		"another workload has failed before": {run: func(_ context.Context, _ func(), env workload.Env) error {
			if env.Trial.Variant == "control" {
				return errors.New("broken")
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b, kernel, _ := newTunedBed(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			b.engine.run = func(trialCtx context.Context, env workload.Env) error {
				if env.Trial.Variant == "tuned" {
					kernel.Set(expire, "777") // somebody else's
				}
				return c.run(trialCtx, stop, env)
			}
			change := b.change
			b.change = func(o *Options) { change(o); o.Timeout = c.timeout }
			receipt := b.run(ctx)
			f := receipt.Failure
			if receipt.Restored || f == nil || f.Class != reason.TunablesNotRestored || !strings.Contains(f.Message, "777") || !strings.Contains(f.Message, c.also) {
				t.Errorf("the receipt is %+v, its failure %+v", receipt, f)
			}
		})
	}
}

func TestNothingIsChangedWithoutAJournalOrBeforeAllIsKnownToBePermitted(t *testing.T) {
	b, kernel, seen := newTunedBed(t)
	b.plan.Variants[1].Tunables = append(b.plan.Variants[1].Tunables, trial.Tunable{Name: "vm.dirty_writeback_centisecs", Value: "never"})
	if receipt := b.run(t.Context()); receipt.Failure == nil || receipt.Failure.Class != reason.InvalidSpec || !strings.Contains(receipt.Failure.Field, "spec.variants[tuned].tunables[2]") {
		t.Errorf("a value that there is not: %+v", receipt.Failure)
	}
	b.plan.Variants[1].Tunables = b.plan.Variants[1].Tunables[:2]
	b.change = func(o *Options) { o.Host = kernel.Host() }
	if receipt := b.run(t.Context()); receipt.Failure == nil || receipt.Restored {
		t.Errorf("without a journal: %+v", receipt)
	}
	if len(seen) != 0 || settings(kernel) != "3000 100" || kernel.Get(writeback) != "500" {
		t.Errorf("measured %v, left %s", seen, settings(kernel))
	}
}
