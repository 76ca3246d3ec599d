//go:build system

package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/runner/journal"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/test/wait"
)

var patience = wait.Patience{Every: 2 * time.Millisecond, AtMost: 2 * time.Minute}

// A worker is killed at each step, the first, second and third time that it comes
// there: each is at another of the three settings.
func TestAWorkerIsKilledAtEachStep(t *testing.T) {
	for _, step := range steps {
		for n := 1; n <= 3; n++ {
			t.Run(fmt.Sprintf("%s %d", step, n), func(t *testing.T) {
				b := newBed(t)
				b.killed(b.start(step, n, kill))
				Injected(t, fmt.Sprintf("SIGKILL at %s, time %d", step, n))
				b.asBefore()
			})
		}
	}
}

// tuned waits until the settings are changed and the device is written to.
func (b *bed) tuned() {
	b.t.Helper()
	var first string
	patience.For(b.t, "the device is written to with changed settings", func() error {
		now := settings(b.t, b.order.Device)
		if now["nr_requests"] != "64" {
			return fmt.Errorf("nr_requests is %s", now["nr_requests"])
		}
		stat, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(b.order.Device), "stat"))
		if err != nil {
			return err
		}
		writes := strings.Fields(string(stat))[4]
		if first == "" {
			first = writes
		}
		if writes == first {
			return fmt.Errorf("%s writes", writes)
		}
		return nil
	})
}

func TestAWorkerIsKilledInMidWorkload(t *testing.T) {
	for n := range 3 {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			b := newBed(t)
			cmd := b.start("", 0, nothing)
			b.tuned()
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			b.killed(cmd)
			Injected(t, "SIGKILL in mid-workload")
			b.asBefore()
		})
	}
}

// The next worker finds what the one that was killed has left, and puts it back before
// it measures anything.
func TestAWorkerIsKilledAndAnotherFollows(t *testing.T) {
	b := newBed(t)
	b.killed(b.start(journal.AfterApply, 3, kill))
	Injected(t, "SIGKILL, and then another worker")
	if r := b.ended(b.start("", 0, nothing)); r.Failure != nil || !r.Restored || r.Stored != 4 {
		t.Errorf("%+v", r)
	}
	b.asBefore()
}

// onItsOwn puts the journal into a file system of 1 MiB.
func (b *bed) onItsOwn() {
	b.t.Helper()
	b.order.Journal, _ = devicetest.Filesystem(b.t, "ext4", 1<<20)
}

func TestVarIsFullBeforeAnythingIsChanged(t *testing.T) {
	b := newBed(t)
	b.onItsOwn()
	if err := fillUp(filepath.Join(b.order.Journal, "other")); err != nil {
		t.Fatal(err)
	}
	Injected(t, "/var is full")
	r := b.ended(b.start("", 0, nothing))
	if r.Failure == nil || r.Failure.Class != reason.TunableNotApplied || r.Failure.Remedy == "" || r.Failure.Field != "spec.variants[tuned]" || !r.Restored {
		t.Errorf("%+v", r)
	}
	Compare(t, b.before, settings(t, b.order.Device))
	b.asBefore()
}

func TestVarFillsUpInMidRun(t *testing.T) {
	for _, step := range []journal.Step{journal.AfterApply, journal.BeforeRestore, journal.AfterRestore} {
		t.Run(string(step), func(t *testing.T) {
			b := newBed(t)
			b.onItsOwn()
			r := b.ended(b.start(step, 3, fill))
			Injected(t, fmt.Sprintf("/var fills up at %s", step))
			// It says that it could not keep its journal, or has done without.
			if !r.Restored && (r.Failure == nil || r.Failure.Class != reason.TunablesNotRestored) {
				t.Errorf("%+v", r)
			}
			Compare(t, b.before, settings(t, b.order.Device))
			if err := os.Remove(filepath.Join(b.order.Journal, "other")); err != nil {
				t.Fatal(err)
			}
			b.asBefore()
		})
	}
}

func TestTheJournalIsReadOnlyBeforeAnythingIsChanged(t *testing.T) {
	b := newBed(t)
	b.onItsOwn()
	if err := makeReadOnly(b.order.Journal); err != nil {
		t.Fatal(err)
	}
	Injected(t, "the journal is read-only")
	r := b.ended(b.start("", 0, nothing))
	if r.Failure == nil || r.Failure.Class != reason.TunableNotApplied || r.Failure.Remedy == "" {
		t.Errorf("%+v", r)
	}
	Compare(t, b.before, settings(t, b.order.Device))
	devicetest.Run(t, "mount", "-o", "remount,bind,rw", b.order.Journal)
	b.asBefore()
}

func TestTheJournalBecomesReadOnlyInMidRun(t *testing.T) {
	for _, step := range []journal.Step{journal.AfterApply, journal.AfterRestore} {
		t.Run(string(step), func(t *testing.T) {
			b := newBed(t)
			b.onItsOwn()
			r := b.ended(b.start(step, 3, readOnly))
			Injected(t, fmt.Sprintf("the journal becomes read-only at %s", step))
			if r.Restored || r.Failure == nil || r.Failure.Class != reason.TunablesNotRestored || !strings.Contains(r.Failure.Message, "read-only") {
				t.Errorf("%+v", r)
			}
			Compare(t, b.before, settings(t, b.order.Device))
			devicetest.Run(t, "mount", "-o", "remount,bind,rw", b.order.Journal)
			b.asBefore()
		})
	}
}

func TestTheKernelRefusesAValue(t *testing.T) {
	b := newBed(t)
	// More than the disk takes, and no scheduler to hold it.
	b.order.Tunables = []trial.Tunable{b.order.Tunables[0],
		{Name: "block.queue.scheduler", Value: "none", Devices: []string{"loop*"}},
		{Name: "block.queue.nr_requests", Value: "10240", Devices: []string{"loop*"}},
	}
	r := b.ended(b.start("", 0, nothing))
	Injected(t, "a value is refused")
	if r.Failure == nil || r.Failure.Class != reason.TunableNotApplied || !strings.Contains(r.Failure.Field, "tuned") || !strings.Contains(r.Failure.Message, "nr_requests") || !r.Restored {
		t.Errorf("%+v", r)
	}
	Compare(t, b.before, settings(t, b.order.Device))
	b.asBefore()
}

func TestAValueIsAcceptedAndNotTaken(t *testing.T) {
	b := newBed(t)
	r := b.ended(b.start(journal.AfterWrite, 1, undo))
	Injected(t, "a value is accepted and not taken")
	if r.Failure == nil || r.Failure.Class != reason.TunableNotApplied || !strings.Contains(r.Failure.Message, "write_cache") || !r.Restored {
		t.Errorf("%+v", r)
	}
	Compare(t, b.before, settings(t, b.order.Device))
	b.asBefore()
}

// What somebody else has set stays, and is said, until a person has looked at it.
func TestSomebodyElseChangesASettingMeanwhile(t *testing.T) {
	b := newBed(t)
	const meddled = "96"
	cmd := b.start("", 0, nothing)
	b.tuned()
	if err := os.WriteFile(queueFile(b.order.Device, "nr_requests"), []byte(meddled), 0); err != nil {
		t.Fatal(err)
	}
	Injected(t, "somebody else changes a setting")
	r := b.ended(cmd)
	if r.Restored || r.Failure == nil || r.Failure.Class != reason.TunablesNotRestored || !strings.Contains(r.Failure.Message, "somebody else") {
		t.Errorf("%+v", r)
	}
	if now := settings(t, b.order.Device)["nr_requests"]; now != meddled {
		t.Errorf("nr_requests is %s, somebody else has set it to %s", now, meddled)
	}
	if out, complete := b.restore(); complete || !strings.Contains(out, "somebody else") {
		t.Errorf("restore says %s", out)
	}
	if r := b.ended(b.start("", 0, nothing)); r.Failure == nil || r.Failure.Class != reason.TunablesNotRestored || r.Stored != 0 {
		t.Errorf("another worker has begun: %+v", r)
	}
	if out, complete := b.restore("--forget"); !complete {
		t.Error(out)
	}
	if err := os.WriteFile(queueFile(b.order.Device, "nr_requests"), []byte(b.before["nr_requests"]), 0); err != nil {
		t.Fatal(err)
	}
	b.asBefore()
}

func TestTwoWorkersWantTheSameNode(t *testing.T) {
	b := newBed(t)
	first := b.start("", 0, nothing)
	b.tuned()
	second := *b
	second.order.Place = t.TempDir()
	for _, name := range []string{"store", "spool", "scratch"} {
		if err := os.Mkdir(filepath.Join(second.order.Place, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r := second.ended(second.start("", 0, nothing))
	Injected(t, "two workers on one node")
	if r.Failure == nil || r.Failure.Class != reason.TunableNotApplied || !strings.Contains(r.Failure.Message, "another storagebench") {
		t.Errorf("the second: %+v", r)
	}
	if r := b.ended(first); r.Failure != nil || !r.Restored || r.Stored != 4 {
		t.Errorf("the first: %+v", r)
	}
	b.asBefore()
}

// A journal with a flipped bit is not used, and says what can be read of it.
func TestTheJournalIsDamaged(t *testing.T) {
	b := newBed(t)
	b.killed(b.start(journal.AfterApply, 3, kill))
	file := filepath.Join(b.order.Journal, "tunables.journal")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(content)
	damaged[len(damaged)/2] ^= 1
	if err := os.WriteFile(file, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	Injected(t, "a bit of the journal is flipped")
	changed := settings(t, b.order.Device)
	if out, complete := b.restore(); complete || !strings.Contains(out, "is damaged") {
		t.Errorf("restore says %s", out)
	}
	if r := b.ended(b.start("", 0, nothing)); r.Failure == nil || r.Failure.Class != reason.TunablesNotRestored || r.Stored != 0 {
		t.Errorf("a worker has begun: %+v", r)
	}
	for name, value := range settings(t, b.order.Device) {
		if value != changed[name] {
			t.Errorf("%s was %s and is %s: a damaged journal was used", name, changed[name], value)
		}
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	b.asBefore()
}
