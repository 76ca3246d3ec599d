//go:build system

package fio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload/native"
)

// Each trial of a job that appends begins without its files, control and treatment alike; each
// of one that overwrites finds them as they are, with every block written.
func TestTrialsFindTheirFilesFreshOrWritten(t *testing.T) {
	for name, c := range map[string]struct {
		config config
		fresh  []string
		laid   []string
	}{
		"a log":                 {parameters("rw=write", "bs=2300", "size=2m", "fdatasync=1", "ioengine=sync", "direct=0", "runtime=1"), []string{"w.0.0"}, nil},
		"random writes":         {parameters("rw=randwrite", "size=6m", "nrfiles=3", "runtime=1"), nil, []string{"w.0.0", "w.0.1", "w.0.2"}},
		"a log beside readers":  {config{JobFile: "[log]\nrw=write\nfsync=1\nsize=1m\n[table]\nrw=randrw\nsize=4m\ndirect=1\nbs=8k"}, []string{"log.0.0"}, []string{"table.0.0"}},
		"a file that is shared": {config{JobFile: "[global]\nfilename=x\nsize=4m\n[log]\nrw=write\nfsync=1\n[table]\nrw=randread"}, nil, []string{"x"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
			env := newEnv(t, dir, c.config)
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			var inodes []os.FileInfo
			for repeat, variant := range []string{"control", "tuned", "tuned", "control"} {
				env.Trial = trial.Trial{ID: variant, Workload: "w", Variant: variant, Repeat: repeat/2 + 1}
				for _, file := range c.fresh {
					if _, err := os.Lstat(filepath.Join(directory(env), file)); !os.IsNotExist(err) {
						t.Errorf("trial %d finds %s: %v", repeat+1, file, err)
					}
				}
				for i, file := range c.laid {
					path := filepath.Join(directory(env), file)
					info, err := os.Stat(path)
					if err != nil {
						t.Fatal(err)
					}
					if repeat == 0 {
						inodes = append(inodes, info)
					} else if !os.SameFile(info, inodes[i]) {
						t.Errorf("trial %d finds another %s", repeat+1, file)
					}
					if out := devicetest.Run(t, "filefrag", "-v", path); strings.Contains(out, "unwritten") || !strings.Contains(out, "extent") {
						t.Errorf("%s has extents that were never written:\n%s", file, out)
					}
				}
				if thin := device.Files(directory(env))["files.thin"]; len(c.laid) > 0 && thin.Value != 0 {
					t.Errorf("%v of the files was never written", thin.Value)
				}
				m, err := Engine{}.Run(t.Context(), env)
				if err != nil {
					t.Fatal(err)
				}
				if len(m.Files) == 0 || (m.Files[0].Files == result.Fresh) != (len(c.fresh) > 0) || m.Files[0].Why == "" {
					t.Errorf("the document says %+v", m.Files)
				}
				if err := (Engine{}).Clean(t.Context(), env); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A worker that is killed within a trial does not clean; the next trial of the same directory
// still finds nothing.
func TestATrialRemovesWhatWasNotCleaned(t *testing.T) {
	env := newEnv(t, t.TempDir(), parameters("rw=write", "size=64k", "fsync=1", "number_ios=4"))
	if err := makeDirectory(env); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(directory(env), "w.0.0")
	if err := os.WriteFile(path, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Engine{}).Run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 64<<10 {
		t.Errorf("%+v, %v", info, err)
	}
}

// What is cached of a file that a trial finds is dropped before fio's clock runs, unless a job is to find it in memory.
func TestTheCachedPagesOfATrialsFilesAreDropped(t *testing.T) {
	const size = 1 << 20
	for name, c := range map[string]struct {
		config config
		stays  bool
	}{
		"reads":                        {parameters("rw=read", "size=1m"), false},
		"reads that are told so":       {parameters("rw=read", "size=1m", "invalidate=1"), false},
		"reads of what is in memory":   {parameters("rw=read", "size=1m", "invalidate=0"), true},
		"reads of what is read before": {parameters("rw=read", "size=1m", "pre_read=1"), true},
		"a file that two jobs share":   {config{JobFile: "[a]\nrw=read\nfilename=w.0.0\nsize=1m\n[b]\nrw=read\nfilename=w.0.0\nsize=1m\ninvalidate=0\n"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
			env := newEnv(t, dir, c.config)
			jobs, _, err := Engine{}.jobs(env)
			if err != nil {
				t.Fatal(err)
			}
			if err := makeDirectory(env); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(directory(env), "w.0.0")
			if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
			dropCached(env, jobs)
			in, all, err := native.Resident(int(f.Fd()), size)
			if err != nil || in != 0 && !c.stays || in != all && c.stays {
				t.Errorf("%d of %d pages are in memory: %v", in, all, err)
			}
		})
	}
}

// Somebody who may write to the volume can put anything in the place of a file.
func TestDroppingCachedPagesFollowsNoLinkAndWaitsForNobody(t *testing.T) {
	env := newEnv(t, t.TempDir(), parameters("rw=read", "size=1m", "nrfiles=2"))
	jobs, _, err := Engine{}.jobs(env)
	if err != nil {
		t.Fatal(err)
	}
	if err := makeDirectory(env); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(directory(env), "w.0.0")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(directory(env), "w.0.1"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); dropCached(env, jobs) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for a writer")
	}
}
