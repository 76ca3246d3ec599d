//go:build system

package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/runner/journal"
)

// seedVariable chooses the faults of TestFaultsInARow; without it the time does.
const seedVariable = "STORAGEBENCH_FAULTS_SEED"

// rows is how many devices have a row of faults each.
const rows = 10

func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(seedVariable)
	if text == "" {
		return uint64(time.Now().UnixNano())
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", seedVariable, err)
	}
	return n
}

// Worker after worker on one device meets a fault, each at a step that nobody chose: the
// first while it changes settings, the next perhaps while it puts back what the first left.
func TestFaultsInARow(t *testing.T) {
	chosen := seed(t)
	t.Logf("%s=%d", seedVariable, chosen)
	for row := range uint64(rows) {
		t.Run(fmt.Sprint(row), func(t *testing.T) {
			r := rand.New(rand.NewPCG(chosen, row))
			b := newBed(t)
			b.onItsOwn()
			for range 1 + r.IntN(3) {
				step, nth, do := steps[r.IntN(len(steps))], 1+r.IntN(3), deeds[r.IntN(len(deeds))]
				what := fmt.Sprintf("%s at %s, time %d (seed %d, row %d)", do, step, nth, chosen, row)
				cmd := b.start(step, nth, do)
				if b.metIts(cmd, do) {
					Injected(t, what)
				}
				b.mend()
			}
			b.asBefore()
		})
	}
}

var steps = []journal.Step{
	journal.BeforeJournal, journal.AfterJournal, journal.AfterWrite, journal.AfterApply,
	journal.BeforeRestore, journal.AfterMark, journal.AfterRestore, journal.AfterCompanions, journal.BeforeDrop, journal.AfterDrop,
}

// deeds: most workers are killed.
var deeds = []deed{kill, kill, kill, fill, readOnly}

// metIts waits for a worker, and reports whether the deed was done to it: one that comes to
// the step less often ends as if nothing had been ordered.
func (b *bed) metIts(cmd *exec.Cmd, do deed) bool {
	b.t.Helper()
	err := cmd.Wait()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case err != nil && !failed:
		b.t.Fatal(err)
	case failed && do == kill && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return true
	case failed:
		b.t.Fatalf("the worker ended by itself, and not well: %v", err)
	case do == kill:
		return false
	case do == fill:
		_, err := os.Stat(filepath.Join(b.order.Journal, "other"))
		return err == nil
	}
	return errors.Is(os.WriteFile(filepath.Join(b.order.Journal, "probe"), nil, 0o600), syscall.EROFS)
}

// mend gives the journal's file system its room back, and lets it be written.
func (b *bed) mend() {
	b.t.Helper()
	devicetest.Run(b.t, "mount", "-o", "remount,bind,rw", b.order.Journal)
	for _, name := range []string{"other", "probe"} {
		if err := os.Remove(filepath.Join(b.order.Journal, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			b.t.Fatal(err)
		}
	}
}
