package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/workload"
)

func TestAStoppedWorkerLeavesFilesOnItsOwnVolumeOnly(t *testing.T) {
	for _, generated := range []bool{true, false} {
		b := newBed(t)
		b.plan.Targets[0].Generated = generated
		ctx, stop := context.WithCancel(t.Context())
		b.engine.run = func(context.Context, workload.Env) error { stop(); return ctx.Err() }
		b.run(ctx)
		if kept := len(b.left()) == 1; kept != generated {
			t.Errorf("generated %t: left %v", generated, b.left())
		}
		b.engine.run = nil
		if receipt := b.run(t.Context()); receipt.Failure != nil || len(b.left()) != 0 {
			t.Errorf("generated %t: left %v, %+v", generated, b.left(), receipt.Failure)
		}
	}
}

func TestOnlyStaleDirectoriesOfTheSameBenchmarkAreRemoved(t *testing.T) {
	b := newBed(t)
	for _, dir := range []string{".storagebench-lab.bench.run-0", ".storagebench-lab.bench2.run-0", ".storagebench-lab.bench.x.run-0", "lost+found", "data"} {
		if err := os.Mkdir(filepath.Join(b.target, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	busy := filepath.Join(b.target, ".storagebench-lab.bench.run-busy")
	if err := os.Mkdir(busy, 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(busy)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	if err := lock(held); err != nil {
		t.Fatal(err)
	}
	if receipt := b.run(t.Context()); receipt.Failure != nil {
		t.Fatal(receipt.Failure)
	}
	want := []string{".storagebench-lab.bench.run-busy", ".storagebench-lab.bench.x.run-0", ".storagebench-lab.bench2.run-0", "data", "lost+found"}
	if left := b.left(); !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}

// A directory with more names than are read at once is gone through to its end.
func TestAStaleDirectoryIsFoundAmongManyNames(t *testing.T) {
	b := newBed(t)
	for i := range 3 * readAtOnce {
		if err := os.WriteFile(filepath.Join(b.target, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stale := []string{".storagebench-lab.bench.run-0-a", ".storagebench-lab.bench.run-0-b"}
	for _, name := range stale {
		if err := os.Mkdir(filepath.Join(b.target, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if receipt := b.run(t.Context()); receipt.Failure != nil {
		t.Fatal(receipt.Failure)
	}
	if left := b.left(); len(left) != 3*readAtOnce {
		t.Errorf("%d names are left", len(left))
	}
}

// What stands where a run's directory could stand is neither used nor changed.
func TestADirectoryThatWasThereBeforeIsNotUsed(t *testing.T) {
	const name = ".storagebench-lab.bench.run-1-0123456789abcdef"
	outside := t.TempDir()
	for what, plant := range map[string]func(path string) error{
		"a link": func(path string) error { return os.Symlink(outside, path) },
		"a file": func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
		"a FIFO": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory that others may write to": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o777), os.Chmod(path, 0o777), os.WriteFile(filepath.Join(path, "x"), nil, 0o600))
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBed(t)
			if err := plant(filepath.Join(b.target, name)); err != nil {
				t.Fatal(err)
			}
			dirs := map[string]bool{}
			b.engine.prepare = func(env workload.Env) error { dirs[filepath.Base(env.Dir)] = true; return nil }
			if receipt := b.run(t.Context()); receipt.Failure != nil {
				t.Fatal(receipt.Failure)
			}
			if dirs[name] || len(dirs) != 1 {
				t.Errorf("it used %v", dirs)
			}
			if left := b.left(); !slices.Equal(left, []string{name}) {
				t.Errorf("left %v", left)
			}
			if entries, _ := os.ReadDir(outside); len(entries) != 0 {
				t.Errorf("written outside: %v", entries)
			}
		})
	}
}

// What an earlier attempt left is removed, with links in it and not what they lead to, and
// each attempt has a directory of its own.
func TestEachAttemptHasADirectoryOfItsOwn(t *testing.T) {
	b := newBed(t)
	outside := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(outside, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.plan.Targets[0].Generated = true
	var dirs []string
	b.engine.prepare = func(env workload.Env) error {
		dirs = append(dirs, env.Dir)
		return errors.Join(os.MkdirAll(filepath.Join(env.Dir, "a/b"), 0o700), os.Symlink(outside, filepath.Join(env.Dir, fmt.Sprintf("a/link%d", len(dirs)))))
	}
	ctx, stop := context.WithCancel(t.Context())
	b.engine.run = func(context.Context, workload.Env) error { stop(); return ctx.Err() }
	b.run(ctx)
	b.engine.run = nil
	if receipt := b.run(t.Context()); receipt.Failure != nil || len(b.left()) != 0 {
		t.Errorf("left %v, %+v", b.left(), receipt.Failure)
	}
	if len(dirs) != 3 || dirs[0] == dirs[1] || dirs[1] != dirs[2] {
		t.Errorf("the directories were %v", dirs)
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != "precious" {
		t.Errorf("outside: %q, %v", content, err)
	}
}

// A directory that was replaced in mid-run is not the one that is removed.
func TestOnlyTheAttemptsOwnDirectoryIsRemoved(t *testing.T) {
	b := newBed(t)
	moved := filepath.Join(b.target, "moved")
	b.engine.run = func(_ context.Context, env workload.Env) error {
		if env.Trial.ID != "b.r003" {
			return nil
		}
		return errors.Join(os.Rename(env.Dir, moved), os.Mkdir(env.Dir, 0o700), os.WriteFile(filepath.Join(env.Dir, "somebody's"), nil, 0o600))
	}
	receipt := b.run(t.Context())
	if f := receipt.Failure; f == nil || f.Class != reason.TargetUnusable || !strings.Contains(f.Remedy, "by hand") {
		t.Errorf("%+v", f)
	}
	if entries, err := os.ReadDir(moved); err != nil || len(entries) != 0 {
		t.Errorf("left in our own: %v, %v", entries, err)
	}
	kept, err := filepath.Glob(filepath.Join(b.target, ".storagebench-*/somebody's"))
	if err != nil || len(kept) != 1 {
		t.Errorf("somebody else's file was removed: %v, %v", kept, err)
	}
}
