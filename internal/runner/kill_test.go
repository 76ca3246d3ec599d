package runner

import (
	"context"
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

	"storagebench.io/storagebench/internal/runner/journal"
	"storagebench.io/storagebench/internal/store/dir"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/workload"
)

// killAt makes this program a worker that kills itself: "<directory> <step> <n>".
const killAt = "STORAGEBENCH_TEST_KILL_AT"

func TestMain(m *testing.M) {
	if at := os.Getenv(killAt); at != "" {
		var place, step string
		var n int
		if _, err := fmt.Sscan(at, &place, &step, &n); err != nil {
			panic(err)
		}
		work(context.Background(), place, func(s string) {
			if s == step {
				if n--; n == 0 {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					select {} // until it comes
				}
			}
		})
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// work runs a worker on settings that are files below a directory. moment is called at
// each step of the journal, and in the middle of each trial with "workload".
func work(ctx context.Context, place string, moment func(step string)) trial.Receipt {
	store, err := dir.New(filepath.Join(place, "store"))
	if err != nil {
		panic(err)
	}
	p := testPlan()
	p.Workloads = p.Workloads[:1]
	p.Variants = []trial.Variant{{Name: "control"}, {Name: "tuned", Tunables: []trial.Tunable{
		{Name: "vm.dirty_expire_centisecs", Value: "100"}, {Name: "vm.dirty_writeback_centisecs", Value: "70"}, {Name: "vm.vfs_cache_pressure", Value: "50"},
	}}}
	p.Trials = nil
	for i, variant := range []string{"control", "tuned", "tuned", "control"} {
		p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprintf("a.%s.r%03d", variant, i/2+1), Workload: "a", Variant: variant, Repeat: i/2 + 1})
	}
	engine := &fakeEngine{run: func(_ context.Context, env workload.Env) error {
		moment("workload")
		if got, tuned := present(place), env.Trial.Variant == "tuned"; tuned != (got == tunedSettings) || !tuned && got != oldSettings {
			return fmt.Errorf("trial %s found %s", env.Trial.ID, got)
		}
		return nil
	}}
	return Run(ctx, Options{
		Plan: p, Worker: "fast.node", TargetPath: filepath.Join(place, "target"), Objects: store,
		Spool: filepath.Join(place, "spool"), Scratch: filepath.Join(place, "scratch"), Engines: engine, Version: "test",
		Clock: fakeClock{}, Log: slog.New(slog.DiscardHandler),
		Journal: filepath.Join(place, "journal"), Host: tunable.Host{Files: tunable.Tree(filepath.Join(place, "root"))},
		Hook: func(s journal.Step) { moment(string(s)) },
	})
}

const (
	oldSettings   = "3000 500 100"
	tunedSettings = "100 70 50"
)

var settingFiles = []string{expire, writeback, pressure}

func present(place string) string {
	var values []string
	for _, name := range settingFiles {
		b, err := os.ReadFile(filepath.Join(place, "root", name))
		if err != nil {
			panic(err)
		}
		values = append(values, strings.TrimSpace(string(b)))
	}
	return strings.Join(values, " ")
}

func newPlace(t *testing.T) string {
	t.Helper()
	place := t.TempDir()
	files := map[string]string{"/proc/sys/kernel/random/boot_id": "5c1b0f0e"}
	for i, value := range strings.Fields(oldSettings) {
		files[settingFiles[i]] = value
	}
	for name, content := range files {
		file := filepath.Join(place, "root", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"target", "spool", "scratch", "store"} {
		if err := os.Mkdir(filepath.Join(place, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return place
}

// A worker is killed, by a signal that nothing can catch, at each step of a trial with
// settings, the first, second and third time that it comes there. The next worker
// finds the node as the first one left it.
func TestWhereverAWorkerIsKilledTheNextOneRestoresFirst(t *testing.T) {
	steps := []journal.Step{
		journal.BeforeJournal, journal.AfterJournal, journal.AfterWrite, journal.AfterApply, "workload",
		journal.BeforeRestore, journal.AfterMark, journal.AfterRestore, journal.AfterCompanions, journal.BeforeDrop, journal.AfterDrop,
	}
	for _, step := range steps {
		for n := 1; n <= 3; n++ {
			t.Run(fmt.Sprintf("%s %d", step, n), func(t *testing.T) {
				place := newPlace(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, os.Args[0])
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", killAt, place, step, n))
				out, err := cmd.CombinedOutput()
				ended, ok := errors.AsType[*exec.ExitError](err)
				if !ok || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the worker was not killed: %v\n%s", err, out)
				}
				found := present(place)
				receipt := work(ctx, place, func(string) {})
				if receipt.Failure != nil || receipt.Stored != 4 || !receipt.Restored {
					t.Errorf("the receipt of the next is %+v; it found %s", receipt, found)
				}
				if got := present(place); got != oldSettings {
					t.Errorf("left: %s; the worker that was killed had left %s", got, found)
				}
			})
		}
	}
}
