//go:build system

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/runner"
	"storagebench.io/storagebench/internal/runner/journal"
	"storagebench.io/storagebench/internal/store/dir"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload/apart"
	"storagebench.io/storagebench/internal/workload/engines"
)

// asWorker makes this program a worker; its value is an order.
const asWorker = "STORAGEBENCH_TEST_WORKER"

// order is what a worker is to do, and what is to happen to it.
type order struct {
	// Place has its directories: store, spool, scratch, receipt.json.
	Place string
	// Device is the target.
	Device string
	// Journal is the directory of the journal.
	Journal  string
	Tunables []trial.Tunable
	// At the Nth occurrence of Step, Do it.
	Step journal.Step
	Nth  int
	Do   deed
}

// deed is what happens at a step.
type deed string

const (
	nothing deed = ""
	// kill the worker by a signal that nothing can catch.
	kill deed = "kill"
	// fill the journal's file system.
	fill deed = "fill"
	// readOnly makes the journal's file system read-only.
	readOnly deed = "read-only"
	// undo puts the setting that was just written back, as a daemon with its own mind might.
	undo deed = "undo"
)

func TestMain(m *testing.M) {
	apart.Become(engines.All())
	text := os.Getenv(asWorker)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	if err := o.work(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// work runs the worker and writes its receipt.
func (o order) work() error {
	store, err := dir.New(filepath.Join(o.Place, "store"))
	if err != nil {
		return err
	}
	receipt := runner.Run(context.Background(), runner.Options{
		Plan: o.plan(), Worker: "disk.here", TargetPath: o.Device, Objects: store,
		Spool: filepath.Join(o.Place, "spool"), Scratch: filepath.Join(o.Place, "scratch"),
		Engines: apart.Engines{Finder: engines.All()}, Version: "test", Clock: runner.SystemClock{}, Log: slog.New(slog.DiscardHandler),
		Journal: o.Journal, Timeout: time.Minute,
		Hook: func(s journal.Step) {
			if s != o.Step {
				return
			}
			if o.Nth--; o.Nth == 0 {
				o.happen()
			}
		},
	})
	document, err := json.Marshal(receipt)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.Place, "receipt.json"), document, 0o600)
}

// happen does what is to happen. What fails here fails the test: see receipt.
func (o order) happen() {
	var err error
	switch o.Do {
	case nothing:
	case kill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it comes
	case fill:
		err = fillUp(filepath.Join(o.Journal, "other"))
	case readOnly:
		err = makeReadOnly(o.Journal)
	case undo:
		err = os.WriteFile(queueFile(o.Device, "write_cache"), []byte("write back"), 0)
	}
	if err != nil {
		panic(err)
	}
}

// makeReadOnly makes the mount of a directory read-only, as an error makes a file system.
// Unlike a mount over it, that reaches who has opened the directory before.
func makeReadOnly(dir string) error {
	return syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
}

// fillUp writes a file until nothing more fits.
func fillUp(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for _, block := range []int{64 << 10, 512, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, block))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
	}
	return nil
}

// plan has two trials with the settings and two without.
func (o order) plan() *trial.Plan {
	config := `{"parameters":{"rw":"randwrite","bs":"4k","size":"16MiB","ioengine":"psync","fdatasync":"1","runtime":"400ms","time_based":"1"},"prefill":"Never"}`
	p := &trial.Plan{
		Schema: trial.PlanSchema, Benchmark: trial.Benchmark{Namespace: "faults", Name: "faults"}, Run: "1",
		Targets:   []trial.Target{{Name: "disk", Source: trial.BlockDevice, Ref: o.Device, Mode: trial.Block}},
		Workloads: []trial.Workload{{Name: "sync", Engine: "fio", Config: json.RawMessage(config)}},
		Variants:  []trial.Variant{{Name: "control"}, {Name: "tuned", AcceptDataLoss: true, Tunables: o.Tunables}},
		Workers:   []trial.Worker{{Name: "disk.here", Target: "disk", Node: "here"}},
	}
	for i, variant := range []string{"control", "tuned", "tuned", "control"} {
		p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprintf("sync.%s.r%03d", variant, i/2+1), Workload: "sync", Variant: variant, Repeat: i/2 + 1})
	}
	return p
}

// bed is a loop device, and what workers on it leave behind.
type bed struct {
	t      *testing.T
	order  order
	before map[string]string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, order: order{Place: t.TempDir(), Device: devicetest.Loop(t, 32<<20), Journal: filepath.Join(t.TempDir(), "journal")}}
	for _, name := range []string{"store", "spool", "scratch"} {
		if err := os.Mkdir(filepath.Join(b.order.Place, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.before = settings(t, b.order.Device)
	b.order.Tunables = []trial.Tunable{
		{Name: "block.queue.write_cache", Value: "write through", Devices: []string{"loop*"}},
		{Name: "block.queue.scheduler", Value: other(t, b.before["scheduler"]), Devices: []string{"loop*"}},
		{Name: "block.queue.nr_requests", Value: "64", Devices: []string{"loop*"}},
	}
	return b
}

// other is a scheduler that the kernel has and that is not in use.
func other(t *testing.T, schedulers string) string {
	t.Helper()
	for s := range strings.FieldsSeq(schedulers) {
		if !strings.HasPrefix(s, "[") && s != "none" {
			return s
		}
	}
	t.Fatalf("the kernel has no scheduler to change to: %s", schedulers)
	return ""
}

func queueFile(device, name string) string {
	return filepath.Join("/sys/block", filepath.Base(device), "queue", name)
}

// settings are the values of all attributes of a device's queue that can be written.
func settings(t *testing.T, device string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(queueFile(device, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no queue: %v", device, err)
	}
	found := map[string]string{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.IsDir() || info.Mode().Perm()&0o200 == 0 {
			continue
		}
		if b, err := os.ReadFile(file); err == nil {
			found[filepath.Base(file)] = strings.TrimSpace(string(b))
		}
	}
	return found
}

// start starts a worker, to which what is ordered happens at the nth occurrence of a
// step.
func (b *bed) start(step journal.Step, nth int, do deed) *exec.Cmd {
	b.t.Helper()
	o := b.order
	o.Step, o.Nth, o.Do = step, nth, do
	text, err := json.Marshal(o)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), patience.AtMost)
	b.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0])
	// Not SIGKILL, which is what some are to end by. It prints where the worker hangs.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGABRT) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), asWorker+"="+string(text))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	return cmd
}

// killed waits for a worker that is to be killed.
func (b *bed) killed(cmd *exec.Cmd) {
	b.t.Helper()
	err := cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		b.t.Fatalf("the worker was not killed: %v", err)
	}
}

// ended waits for a worker and returns its receipt.
func (b *bed) ended(cmd *exec.Cmd) trial.Receipt {
	b.t.Helper()
	if err := cmd.Wait(); err != nil {
		b.t.Fatalf("the worker: %v", err)
	}
	document, err := os.ReadFile(filepath.Join(b.order.Place, "receipt.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	var r trial.Receipt
	if err := json.Unmarshal(document, &r); err != nil {
		b.t.Fatal(err)
	}
	return r
}

// restore runs storagebench restore, as the operator's Job does and a person would.
func (b *bed) restore(arguments ...string) (output string, complete bool) {
	b.t.Helper()
	program, err := filepath.Abs("../../bin/storagebench")
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), patience.AtMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"restore", "--journal", b.order.Journal}, arguments...)...)
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		b.t.Fatal(err)
	}
	return string(out), err == nil
}

// asBefore restores until nothing is left to do, and compares.
func (b *bed) asBefore() {
	b.t.Helper()
	for attempt := range 2 {
		if out, complete := b.restore(); !complete {
			b.t.Errorf("restore, attempt %d: %s", attempt+1, out)
		}
		Compare(b.t, b.before, settings(b.t, b.order.Device))
	}
	if entries, err := journal.Pending(b.order.Journal); err != nil || len(entries) > 0 {
		b.t.Errorf("the journal still has %d entries: %v", len(entries), err)
	}
}
