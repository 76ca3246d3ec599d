package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/apart"
)

var allTrials = []string{"a.r001", "b.r001", "a.r002", "b.r002", "a.r003", "b.r003"}

func TestEveryTrialIsRunInOrderAndStored(t *testing.T) {
	b := newBed(t)
	receipt := b.run(t.Context())
	if receipt.Failure != nil || receipt.Planned != 6 || receipt.Stored != 6 {
		t.Errorf("the receipt is %+v", receipt)
	}
	if !slices.Equal(b.engine.ran, allTrials) || !slices.Equal(b.engine.prepared, []string{"a", "b"}) {
		t.Errorf("ran %v, prepared %v", b.engine.ran, b.engine.prepared)
	}
	if left := b.left(); len(left) != 0 {
		t.Errorf("left on the target: %v", left)
	}
	d := b.document("b.r002")
	if d.Outcome != result.Measured || d.Attempt != 1 || d.Engine != "fake" || d.Worker.Node != "node" || d.EndedAt.Before(d.StartedAt) ||
		d.Metrics["read.iops"].Value != 2 || d.Metrics["runner.cpu"].Unit != result.Ratio {
		t.Errorf("the document is %+v", d)
	}
	seeds := map[uint32]string{}
	for _, id := range allTrials {
		seed := b.document(id).Seed
		if other := seeds[seed]; seed == 0 || other != "" {
			t.Errorf("%s has the seed %d, as %q", id, seed, other)
		}
		seeds[seed] = id
	}
	env := workload.Env{Run: b.plan.Run, Worker: "fast.node", Workload: trial.Workload{Name: "b"}, Trial: d.Trial}
	if d.Seed != env.Seed() {
		t.Errorf("the seed is %d, not the one of its run and worker", d.Seed)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	raw := b.store.objects[d.Raw.Key]
	if plain, err := decoder.DecodeAll(raw, nil); err != nil || string(plain) != "output of b.r002" || d.Raw.Digest != trial.Digest(raw) || d.Raw.Bytes != len(raw) {
		t.Errorf("the raw output is %q, %v", plain, err)
	}
	s := b.summary()
	if trial.Digest(b.store.objects[b.plan.Keys().WorkerSummary("fast.node")]) != receipt.SummaryDigest {
		t.Error("the receipt has another digest than the summary")
	}
	if len(s.Trials) != 6 || s.Planned != 6 || len(s.Attempts) != 1 || s.Environment == nil || s.Environment.Tools["storagebench"] != "test" {
		t.Errorf("the summary is %+v", s)
	}
	for i, summary := range s.Trials {
		if summary.ID != allTrials[i] || summary.Object.Digest != trial.Digest(b.store.objects[summary.Object.Key]) {
			t.Errorf("trial %d of the summary is %+v", i, summary)
		}
	}
	if n := s.Workloads[1].Histograms["read"].Count(); n != 30 || s.Workloads[1].Workload != "b" {
		t.Errorf("the merged histogram of %s counts %d", s.Workloads[1].Workload, n)
	}
}

func TestAWorkloadThatFailsIsLeftOutAndTheOthersGoOn(t *testing.T) {
	b := newBed(t)
	b.engine.run = func(_ context.Context, env workload.Env) error {
		if env.Trial.ID == "a.r002" {
			return &trial.Failure{Class: reason.NoSpace, Field: "spec.targets[fast].hostPath.path", Message: "full"}
		}
		return nil
	}
	receipt := b.run(t.Context())
	if want := []string{"a.r001", "b.r001", "a.r002", "b.r002", "b.r003"}; !slices.Equal(b.engine.ran, want) {
		t.Errorf("ran %v", b.engine.ran)
	}
	if receipt.Stored != 5 || receipt.Failure == nil || receipt.Failure.Class != reason.NoSpace || receipt.Failure.Workload != "a" {
		t.Errorf("the receipt is %+v, %+v", receipt, receipt.Failure)
	}
	d := b.document("a.r002")
	if d.Outcome != result.Failed || d.Failure.Message != "full" || d.Raw == nil {
		t.Errorf("the failed trial's document is %+v", d)
	}
	s := b.summary()
	if n := s.Workloads[0].Histograms["read"].Count(); n != 10 {
		t.Errorf("the failed trial's histogram is in the pool: %d", n)
	}
	if s.Trials[2].Metrics != nil || s.Trials[2].Failure == nil {
		t.Errorf("the failed trial's summary is %+v", s.Trials[2])
	}
	if !slices.Contains(b.steps, "a.r003 skipped") {
		t.Errorf("steps: %v", b.steps)
	}
	// Another attempt does not change the verdict.
	b.engine.run, b.engine.ran = nil, nil
	if again := b.run(t.Context()); again.Failure == nil || again.Failure.Class != reason.NoSpace || len(b.engine.ran) != 0 {
		t.Errorf("the second attempt ran %v: %+v", b.engine.ran, again)
	}
}

func TestAPreparationThatFailsFailsTheWorkload(t *testing.T) {
	b := newBed(t)
	b.engine.prepare = func(env workload.Env) error {
		if env.Workload.Name == "a" {
			return &trial.Failure{Class: reason.TargetTooSmall, Message: "small"}
		}
		return nil
	}
	receipt := b.run(t.Context())
	if receipt.Failure == nil || receipt.Failure.Class != reason.TargetTooSmall || receipt.Stored != 4 {
		t.Errorf("the receipt is %+v", receipt)
	}
	if want := []string{"b.r001", "b.r002", "b.r003"}; !slices.Equal(b.engine.ran, want) {
		t.Errorf("ran %v", b.engine.ran)
	}
	if d := b.document("a.r001"); d.Outcome != result.Failed || d.Failure.Class != reason.TargetTooSmall {
		t.Errorf("the document is %+v", d)
	}
}

func TestAnotherAttemptRunsOnlyWhatIsNotStored(t *testing.T) {
	b := newBed(t)
	ctx, kill := context.WithCancel(t.Context())
	b.engine.run = func(_ context.Context, env workload.Env) error {
		if env.Trial.ID == "a.r002" {
			kill()
			return ctx.Err()
		}
		return nil
	}
	first := b.run(ctx)
	if first.Failure == nil || !errors.Is(first.Failure, context.Canceled) || first.Stored != 2 {
		t.Errorf("the first receipt is %+v", first)
	}
	if _, stored := b.store.objects[b.plan.Keys().Trial("fast.node", "a.r002")]; stored {
		t.Error("the interrupted trial was stored")
	}
	b.engine.run, b.engine.ran, b.engine.prepared = nil, nil, nil
	second := b.run(t.Context())
	if second.Failure != nil || second.Stored != 6 {
		t.Errorf("the second receipt is %+v", second)
	}
	if want := allTrials[2:]; !slices.Equal(b.engine.ran, want) || len(b.engine.prepared) != 2 {
		t.Errorf("the second attempt ran %v, prepared %v", b.engine.ran, b.engine.prepared)
	}
	s := b.summary()
	if len(s.Attempts) != 2 || s.Attempts[1].Number != 2 || s.Attempts[1].ResumedAfter != 2 || s.Failure != nil {
		t.Errorf("attempts: %+v, failure %v", s.Attempts, s.Failure)
	}
	if s.Trials[0].Attempt != 1 || s.Trials[5].Attempt != 2 || s.Workloads[0].Histograms["read"].Count() != 30 {
		t.Errorf("the summary is %+v", s)
	}
	b.engine.ran = nil
	if third := b.run(t.Context()); third.Failure != nil || third.Stored != 6 || len(b.engine.ran) != 0 {
		t.Errorf("a third attempt ran %v: %+v", b.engine.ran, third)
	}
}

func TestAStoredTrialOfSomethingElseIsRunAgain(t *testing.T) {
	b := newBed(t)
	b.run(t.Context())
	keys := b.plan.Keys()
	other := strings.Replace(string(b.store.objects[keys.Trial("fast.node", "a.r001")]), `"run": "run-1"`, `"run": "run-0"`, 1)
	b.store.objects[keys.Trial("fast.node", "a.r001")] = []byte(other)
	b.store.objects[keys.Trial("fast.node", "b.r001")] = []byte("{")
	b.engine.ran = nil
	if receipt := b.run(t.Context()); receipt.Failure != nil || receipt.Stored != 6 || !slices.Equal(b.engine.ran, allTrials[:2]) {
		t.Errorf("ran %v: %+v", b.engine.ran, receipt)
	}
}

func TestTheStoreMayBeAwayInMidRun(t *testing.T) {
	b := newBed(t)
	during := 0
	b.store.put = func(string) error {
		if b.engine.isRunning() {
			during++
		}
		if n := len(b.engine.ran); n >= 2 && n < 5 {
			return errAway
		}
		return nil
	}
	receipt := b.run(t.Context())
	if receipt.Failure != nil || receipt.Stored != 6 || len(b.engine.ran) != 6 {
		t.Errorf("ran %v: %+v", b.engine.ran, receipt)
	}
	if during != 0 {
		t.Errorf("%d uploads during a trial", during)
	}
	raw, document := slices.Index(b.store.puts, b.plan.Keys().Raw("fast.node", "a.r002")), slices.Index(b.store.puts, b.plan.Keys().Trial("fast.node", "a.r002"))
	if raw < 0 || document < raw {
		t.Errorf("the document was uploaded before the raw output: %v", b.store.puts)
	}
}

func TestWhatWasNotUploadedIsUploadedByTheNextProcess(t *testing.T) {
	b := newBed(t)
	b.change = func(o *Options) { o.StopGrace = 50 * time.Millisecond }
	ctx, cancel := context.WithCancel(t.Context())
	b.store.put = func(key string) error {
		if strings.Contains(key, "/trials/") || strings.Contains(key, "/raw/") || strings.Contains(key, "/samples/") {
			cancel() // the end, while the store is away
			return errAway
		}
		return nil
	}
	receipt := b.run(ctx)
	if receipt.Stored != 0 || receipt.Failure == nil || receipt.SummaryDigest != "" {
		t.Errorf("the receipt is %+v", receipt)
	}
	b.store.put, b.change, b.engine.ran = nil, nil, nil
	again := b.run(t.Context())
	if again.Failure != nil || again.Stored != 6 || slices.Contains(b.engine.ran, "a.r001") {
		t.Errorf("ran %v: %+v", b.engine.ran, again)
	}
	err := filepath.WalkDir(filepath.Join(b.spool, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			t.Errorf("left in the spool: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAStoreThatRefusesStopsTheWorker(t *testing.T) {
	for name, c := range map[string]struct {
		put, get func(b *bed, key string) error
		ran      int
		remedy   string
	}{
		"at the start": {
			get: func(*bed, string) error { return fmt.Errorf("get: %w", store.ErrDenied) },
			ran: 0, remedy: "s3:GetObject",
		},
		"no bucket": {
			get: func(*bed, string) error { return fmt.Errorf("get: %w", store.ErrNoBucket) },
			ran: 0, remedy: "create the bucket",
		},
		"in mid-run": {
			put: func(b *bed, _ string) error {
				if len(b.engine.ran) == 2 {
					return fmt.Errorf("put: %w", store.ErrExpired)
				}
				return nil
			},
			ran: 2, remedy: "clocks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			if c.put != nil {
				b.store.put = func(key string) error { return c.put(b, key) }
			}
			if c.get != nil {
				b.store.get = func(key string) error { return c.get(b, key) }
			}
			receipt := b.run(t.Context())
			f := receipt.Failure
			if f == nil || f.Class != reason.ResultsNotStored || f.Field != "spec.results.storeRef" || !strings.Contains(f.Remedy, c.remedy) {
				t.Errorf("the failure is %+v", f)
			}
			if len(b.engine.ran) != c.ran || len(b.left()) != 0 {
				t.Errorf("ran %v, left %v", b.engine.ran, b.left())
			}
		})
	}
}

func TestTheTimeoutKeepsWhatWasMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // however long the disk takes
		b := newBed(t)
		b.change = func(o *Options) { o.Timeout = 300 * time.Millisecond }
		b.engine.run = func(ctx context.Context, env workload.Env) error {
			if env.Trial.ID == "b.r001" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		receipt := b.run(t.Context())
		f := receipt.Failure
		if f == nil || f.Class != reason.TimedOut || f.Field != "spec.timeout" || !strings.Contains(f.Message, "1 of 6") || receipt.Stored != 1 {
			t.Errorf("the receipt is %+v, %+v", receipt, f)
		}
		if len(b.left()) != 0 {
			t.Errorf("left %v", b.left())
		}
	})
}

func TestTargetsThatCannotBeUsedAreRefused(t *testing.T) {
	outside := t.TempDir()
	for name, prepare := range map[string]func(b *bed) error{
		"it does not exist": func(b *bed) error { return os.Remove(b.target) },
		"a link leads to it": func(b *bed) error {
			link := filepath.Join(t.TempDir(), "link")
			b.target, outside = link, b.target
			return os.Symlink(outside, link)
		},
		"a worker of the same run is there": func(b *bed) error {
			dir := filepath.Join(b.target, ".storagebench-lab.bench.run-1-0123456789abcdef")
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			held, err := os.Open(dir)
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = held.Close() })
			outside = dir
			return lock(held)
		},
		"a file instead of a directory": func(b *bed) error {
			b.target = filepath.Join(b.target, "file")
			return os.WriteFile(b.target, nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			if err := prepare(b); err != nil {
				t.Fatal(err)
			}
			receipt := b.run(t.Context())
			if f := receipt.Failure; f == nil || f.Class != reason.TargetUnusable || f.Field != "spec.targets[fast].hostPath.path" || len(b.engine.ran) != 0 {
				t.Errorf("the receipt is %+v, %+v", receipt, f)
			}
			if entries, _ := os.ReadDir(outside); len(entries) != 0 {
				t.Errorf("written outside: %v", entries)
			}
			if s := b.summary(); s.Failure == nil || len(s.Attempts) != 1 {
				t.Errorf("the summary does not say so: %+v", s)
			}
		})
	}
}

func TestATrialThatHangsIsStoppedAndTheOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // however long the disk takes
		b := newBed(t)
		b.change = func(o *Options) { o.TrialGrace = 100 * time.Millisecond } // and it is expected to take a second
		b.engine.run = func(ctx context.Context, env workload.Env) error {
			if env.Trial.ID == "a.r002" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		receipt := b.run(t.Context())
		if f := receipt.Failure; f == nil || f.Class != reason.WorkloadFailed || f.Workload != "a" || !strings.Contains(f.Message, "was expected to take 1s") || receipt.Stored != 5 {
			t.Errorf("%+v, %+v", receipt, receipt.Failure)
		}
	})
}

func TestPlansThatDoNotFit(t *testing.T) {
	b := newBed(t)
	b.change = func(o *Options) { o.Worker = "nobody" }
	if f := b.run(t.Context()).Failure; f == nil || f.Class != reason.InvalidSpec {
		t.Errorf("an unknown worker: %+v", f)
	}
	b = newBed(t)
	b.plan.Trials[0].Workload = "nothing"
	if f := b.run(t.Context()).Failure; f == nil || len(b.engine.ran) != 0 {
		t.Errorf("an unknown workload: %+v", f)
	}
}

func TestNoGarbageIsCollectedDuringATrial(t *testing.T) {
	var before, after runtime.MemStats
	kept := 0
	cpu, _ := apart.Quietly(func() {
		runtime.ReadMemStats(&before)
		for range 64 {
			kept += len(bytes.Repeat([]byte{1}, 1<<20))
		}
		runtime.ReadMemStats(&after)
	})
	if kept != 64<<20 || after.NumGC != before.NumGC {
		t.Errorf("%d collections while %d bytes were allocated", after.NumGC-before.NumGC, kept)
	}
	if cpu <= 0 {
		t.Error("work takes no CPU")
	}
	if idle, elapsed := apart.Quietly(func() { <-time.After(50 * time.Millisecond) }); idle > elapsed/2 {
		t.Errorf("an idle runner used %v of %v", idle, elapsed)
	}
	if percent := debug.SetGCPercent(100); percent != 100 {
		debug.SetGCPercent(percent)
		t.Errorf("the collector was left at %d %%", percent)
	}
}
