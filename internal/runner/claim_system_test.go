//go:build system

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// newDeviceBed is a bed whose target is a loop device of the node.
func newDeviceBed(t *testing.T) *bed {
	t.Helper()
	b := newBed(t)
	b.target = devicetest.Loop(t, 8<<20)
	b.plan.Targets[0] = trial.Target{Name: "fast", Source: trial.BlockDevice, Ref: b.target, Mode: trial.Block}
	b.change = func(o *Options) { o.Journal = b.journal() }
	return b
}

func (b *bed) journal() string { return filepath.Join(b.spool, "journal") }

// scribble writes over the first MiB of a device.
func scribble(t *testing.T, device, text string) {
	t.Helper()
	f, err := os.OpenFile(device, os.O_WRONLY|os.O_SYNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(bytes.Repeat([]byte(text), 1<<20/len(text))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A tenant who can upload in the worker's place claims a device that holds somebody's data.
func TestAClaimInTheStoreDoesNotOpenADeviceThatHoldsData(t *testing.T) {
	b := newDeviceBed(t)
	scribble(t, b.target, "precious")
	before, err := os.ReadFile(b.target)
	if err != nil {
		t.Fatal(err)
	}
	w := b.plan.Workers[0]
	forged := result.NewWorkerSummary(b.plan, w)
	forged.Attempts = []result.Attempt{{Number: 1, Host: "node", StartedAt: time.Now(), Claimed: true}}
	d := &result.Trial{Schema: result.TrialSchema, Benchmark: b.plan.Benchmark, Run: b.plan.Run, Worker: w, Trial: b.plan.Trials[0], Engine: "fake", Attempt: 1, Outcome: result.Measured}
	for key, document := range map[string]any{
		b.plan.Keys().WorkerSummary(w.Name):              forged,
		b.plan.Keys().Trial(w.Name, b.plan.Trials[0].ID): d,
	} {
		body, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		b.store.objects[key] = body
	}
	receipt := b.run(t.Context())
	if f := receipt.Failure; f == nil || f.Class != reason.TargetHoldsData || len(b.engine.ran) != 0 {
		t.Errorf("the failure is %+v, and %v ran", f, b.engine.ran)
	}
	if after, err := os.ReadFile(b.target); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the device was changed (%v)", err)
	}
}

// What a worker that was killed leaves: its data, no marker, and the node's record.
func TestAWorkerThatWasKilledContinuesOnItsDevice(t *testing.T) {
	b := newDeviceBed(t)
	ctx, stop := context.WithCancel(t.Context())
	saved := filepath.Join(t.TempDir(), "journal")
	b.engine.run = func(_ context.Context, env workload.Env) error {
		if env.Trial.ID == "a.r002" {
			devicetest.Run(t, "cp", "-a", b.journal(), saved)
			stop()
			return ctx.Err()
		}
		return nil
	}
	b.run(ctx)
	leave := func() {
		t.Helper()
		scribble(t, b.target, "measured")
		devicetest.Run(t, "cp", "-aT", saved, b.journal())
	}
	b.engine.run = nil
	leave()

	other := *b
	other.plan, other.store, other.engine = testPlan(), newFakeStore(), &fakeEngine{}
	other.plan.Targets[0], other.plan.Run = b.plan.Targets[0], "run-2"
	if f := other.run(t.Context()).Failure; f == nil || f.Class != reason.TargetHoldsData {
		t.Errorf("another run was given the device: %+v", f)
	}
	devicetest.Run(t, "chmod", "0777", b.journal())
	if f := b.run(t.Context()).Failure; f == nil || f.Class != reason.TargetHoldsData {
		t.Errorf("a record that anybody can write was believed: %+v", f)
	}
	devicetest.Run(t, "chmod", "0700", b.journal())
	if receipt := b.run(t.Context()); receipt.Failure != nil || receipt.Stored != 6 {
		t.Errorf("the successor: %+v", receipt)
	}
	if left, _ := filepath.Glob(filepath.Join(b.journal(), "claim-*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if f := other.run(t.Context()).Failure; f != nil {
		t.Errorf("after the worker has marked the device: %+v", f)
	}
}

func TestADeviceIsRecognisedByMoreThanItsNumber(t *testing.T) {
	b := newDeviceBed(t)
	o := Options{Plan: b.plan, Worker: b.plan.Workers[0].Name, TargetPath: b.target, Objects: b.store, Spool: b.spool, Clock: fakeClock{}}
	w, err := newWorker(o)
	if err != nil {
		t.Fatal(err)
	}
	claim, _, err := w.onNode()
	if err != nil {
		t.Fatal(err)
	}
	if !claim.same(claim) {
		t.Errorf("it is not recognised: %+v", claim)
	}
	for what, change := range map[string]func(*nodeClaim){
		"another medium":                 func(c *nodeClaim) { c.Disk.DiskSeq++ },
		"another file":                   func(c *nodeClaim) { c.Disk.Backing += "x" },
		"a partition":                    func(c *nodeClaim) { c.Part = "1 2048 4096" },
		"another worker":                 func(c *nodeClaim) { c.Owner.Worker += "x" },
		"another boot, without a serial": func(c *nodeClaim) { c.BootID, c.Disk.Backing = "x", "" },
	} {
		other := claim
		change(&other)
		if claim.same(other) {
			t.Errorf("%s is taken for the same", what)
		}
	}
}
