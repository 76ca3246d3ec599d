package bonnie

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

func newEnv(t *testing.T, dir, config string) workload.Env {
	t.Helper()
	return workload.Env{
		Workload: trial.Workload{Name: "w", Engine: "bonnie", Config: []byte(config)},
		Target:   trial.Target{Name: "fast", Source: trial.StorageClass, Mode: trial.Filesystem},
		Dir:      dir, Scratch: t.TempDir(), State: t.TempDir(),
		Trial: trial.Trial{ID: "w.r001", Workload: "w", Repeat: 1},
		Log:   slog.New(slog.DiscardHandler),
	}
}

// wantFailure checks class, field and a part of the message, and that there is a remedy.
func wantFailure(t *testing.T, name string, err error, want trial.Failure) {
	t.Helper()
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != want.Class || f.Field != want.Field || !strings.Contains(f.Message, want.Message) || f.Remedy == "" && want.Remedy != "none" {
		t.Errorf("%s: got %+v, want %+v", name, err, want)
	}
}

func TestWhatBonnieWouldRefuseOrCountWronglyIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		mode   trial.Mode
		want   trial.Failure
	}{
		"a device":                     {`{}`, trial.Block, trial.Failure{Field: "bonnie", Message: "bonnie needs a file system"}},
		"a chunk that is no power":     {`{"chunkSize":"12Ki"}`, trial.Filesystem, trial.Failure{Field: "bonnie.chunkSize", Message: "12288 is not a power of two"}},
		"a chunk that is too small":    {`{"chunkSize":128}`, trial.Filesystem, trial.Failure{Field: "bonnie.chunkSize", Message: "128 is not a power of two from 256"}},
		"a chunk that is too large":    {`{"chunkSize":"2Mi"}`, trial.Filesystem, trial.Failure{Field: "bonnie.chunkSize", Message: "from 256 to 1Mi"}},
		"a size that is too small":     {`{"size":"15Mi"}`, trial.Filesystem, trial.Failure{Field: "bonnie.size", Message: "15 MiB is less than 16 MiB"}},
		"a size beyond its counters":   {`{"size":"2Ti"}`, trial.Filesystem, trial.Failure{Field: "bonnie.size", Message: "more than bonnie++ can count"}},
		"chunks beyond its counters":   {`{"size":"1Ti","chunkSize":256}`, trial.Filesystem, trial.Failure{Field: "bonnie.chunkSize", Message: "exceed the number of chunks that bonnie++ can count"}},
		"files beyond reason":          {`{"files":10001}`, trial.Filesystem, trial.Failure{Field: "bonnie.files", Message: "not between 0 and 10000"}},
		"a field that is not there":    {`{"size":"1Gi","direct":true}`, trial.Filesystem, trial.Failure{Field: "bonnie.direct", Message: `bonnie has no field "direct"`}},
		"a size that is not a size":    {`{"size":"big"}`, trial.Filesystem, trial.Failure{Field: "bonnie", Message: `"big" is not a size`}},
		"a number of files that is no": {`{"files":-1}`, trial.Filesystem, trial.Failure{Field: "bonnie.files", Message: "-1 is not between"}},
	} {
		c.want.Class = reason.InvalidSpec
		wantFailure(t, name, Engine{}.Check([]byte(c.config), c.mode), c.want)
	}
	for _, config := range []string{`{}`, `{"size":"16Mi","chunkSize":"256","files":0,"perCharacter":false}`, `{"size":"2047Gi","chunkSize":"1Mi","files":10000}`} {
		if err := (Engine{}).Check([]byte(config), trial.Filesystem); err != nil {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func TestTheEstimateIsTheLargeFileOrTheSmallOnes(t *testing.T) {
	for config, want := range map[string]uint64{
		`{}`: 0, `{"size":"1Gi"}`: 1 << 30, `{"size":"16Mi","files":10000}`: 10000 * 1024 * 512,
	} {
		if got, err := (Engine{}).Estimate([]byte(config)); err != nil || got.Bytes != want || got.Duration != 0 {
			t.Errorf("%s: %+v, %v", config, got, err)
		}
	}
}

func TestTheArgumentsOfBonnie(t *testing.T) {
	c, err := decode([]byte(`{"size":"1G","chunkSize":"64Ki","files":3,"perCharacter":false}`))
	if err != nil {
		t.Fatal(err)
	}
	env := newEnv(t, t.TempDir(), `{}`)
	size, err := c.size(env)
	if err != nil || size != 953<<20 {
		t.Fatalf("%d, %v", size, err)
	}
	args := c.arguments(env, size)
	for option, want := range map[string]string{"-s": "953:65536", "-n": "3", "-x": "1", "-r": "0", "-m": "w"} {
		if i := slices.Index(args, option); i < 0 || args[i+1] != want {
			t.Errorf("%s is not %s: %q", option, want, args)
		}
	}
	if !slices.Contains(args, "-f") || !slices.Contains(args, "-q") {
		t.Errorf("%q", args)
	}
	env.Trial.Repeat = 2
	if other := c.arguments(env, size); slices.Equal(other, args) {
		t.Error("two repeats have the same seed")
	}
}

// fake writes a program that stands for bonnie++: it says these things, leaves a file
// as bonnie++ does when it is stopped, and exits so.
func fake(t *testing.T, stdout, stderr string, status string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fake-bonnie++")
	script := "#!/bin/sh\ntouch Bonnie.1\ncat <<'END'\n" + stdout + "\nEND\ncat >&2 <<'END'\n" + stderr + "\nEND\n" + status + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

const goodLine = "1.98,2.00a,w,1,42,16M,,8192,5,1285,97,756165,72,955950,74,2098,97,1203968,58,811.4,12" + ",,,,,,,,,,,,,,,,,,8666us,2164us,5208us,6209us,1053us,8245us,,,,,,"

func TestWhatBonnieSaysBecomesAFailureWithARemedy(t *testing.T) {
	const usage = "usage:\nbonnie++ [-d scratch-dir]\n\nVersion: 1.03"
	for name, c := range map[string]struct {
		stdout, stderr, status string
		want                   trial.Failure
		errno                  syscall.Errno
	}{
		"a full file system": {
			"", "Can't write block.: No space left on device\nCan't write block 11.", "exit 1",
			trial.Failure{Class: reason.NoSpace, Field: "spec.targets[fast].storageClass.size", Message: "Can't write block 11."}, syscall.ENOSPC,
		},
		"a full file system, in other words": {
			"", "Can't write() - disk full?", "exit 1",
			trial.Failure{Class: reason.NoSpace, Field: "spec.targets[fast].storageClass.size", Message: "disk full?"}, syscall.ENOSPC,
		},
		"an fsync that failed, and status 0": {
			goodLine, "Can't sync file.", "exit 0",
			trial.Failure{Class: reason.TargetUnusable, Field: "spec.targets[fast].storageClass.size", Message: "fsync failed"}, 0,
		},
		"a read that failed, and status 0": {
			goodLine, "Bonnie: drastic I/O error (re-write read): Input/output error", "exit 0",
			trial.Failure{Class: reason.TargetUnusable, Field: "spec.targets[fast].storageClass.size", Message: "drastic I/O error"}, syscall.EIO,
		},
		"another complaint, and status 0": {
			goodLine, "Can't read a full block, only got 100 bytes.", "exit 0",
			trial.Failure{Class: reason.WorkloadFailed, Field: "spec.workloads[w].bonnie", Message: "bonnie++ reported: Can't read a full block", Remedy: "none"}, 0,
		},
		"other arguments": {
			"", usage, "exit 1",
			trial.Failure{Class: reason.InternalError, Field: "spec.workloads[w].bonnie", Message: "rejects its arguments"}, 0,
		},
		"a signal": {
			"", "", "kill -9 $$",
			trial.Failure{Class: reason.WorkloadFailed, Field: "spec.workloads[w].bonnie", Message: "bonnie++ failed: signal: killed", Remedy: "none"}, 0,
		},
		"another program": {
			"hello", "", "exit 0",
			trial.Failure{Class: reason.WorkloadFailed, Field: "spec.workloads[w].bonnie", Message: "cannot read the result"}, 0,
		},
		"nothing that took half a second": {
			strings.NewReplacer("1285,97", "+++++,+++", "756165,72", "+++++,+++", "955950,74", "+++++,+++", "2098,97", "+++++,+++", "1203968,58", "+++++,+++", "811.4,12", "+++++,+++").Replace(goodLine), "", "exit 0",
			trial.Failure{Class: reason.WorkloadFailed, Field: "spec.workloads[w].bonnie.size", Message: "less than 0.5 s"}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, t.TempDir(), `{"size":"16Mi","files":0}`)
			m, err := Engine{Program: fake(t, c.stdout, c.stderr, c.status), Memory: 1}.Run(t.Context(), env)
			wantFailure(t, name, err, c.want)
			if c.errno != 0 && !errors.Is(err, c.errno) {
				t.Errorf("the cause is %v", err)
			}
			if m == nil || !strings.Contains(m.Stderr, c.stderr) || !strings.Contains(string(m.RawOutput), c.stdout) {
				t.Errorf("what it said is not kept: %+v", m)
			}
			if entries, _ := os.ReadDir(env.Dir); len(entries) != 0 {
				t.Errorf("it left %v", entries)
			}
		})
	}
}

func TestBonnieThatIsNotInstalledIsNamed(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"16Mi"}`)
	e := Engine{Program: "/nonexistent/bonnie++"}
	_, err := e.Run(t.Context(), env)
	wantFailure(t, "not there", err, trial.Failure{Class: reason.InternalError, Field: "spec.workloads[w].bonnie", Message: "cannot start bonnie++"})
	if tools := e.Tools(t.Context()); tools != nil {
		t.Errorf("its version is %v", tools)
	}
}

func TestASmallFileIsSaidToMeasureMemory(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"16Mi","files":0}`)
	program := fake(t, goodLine, "", "exit 0")
	m, err := Engine{Program: program, Memory: 9 << 20}.Run(t.Context(), env)
	if err != nil || len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "16 MiB is less than twice the node's memory of 9 MiB") {
		t.Errorf("%+v, %v", m, err)
	}
	if m.DirectIO.Effective != result.Buffered || m.Metrics["write.bandwidth"].Value != 756165*1024 {
		t.Errorf("%+v", m)
	}
	if m, err = (Engine{Program: program, Memory: 8 << 20}).Run(t.Context(), env); err != nil || len(m.Notes) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestTheSizeIsTwiceTheMemoryAndChosenOnce(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"files":0}`)
	if _, err := (Engine{}).Run(t.Context(), env); err == nil || !strings.Contains(err.Error(), "Prepare did not run") {
		t.Errorf("got %v", err)
	}
	for _, memory := range []uint64{10<<20 + 4096, 20 << 20} { // the second is too late
		e := Engine{Program: fake(t, goodLine, "", "exit 0"), Memory: memory}
		if err := e.Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		m, err := e.Run(t.Context(), env)
		if err != nil || !slices.Contains(m.Command, "20:8192") {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

func TestPrepareRemovesWhatAKilledAttemptLeft(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"16Mi","files":0}`)
	left := filepath.Join(env.Dir, "bonnie-w", "Bonnie.7")
	if err := errors.Join(os.Mkdir(filepath.Dir(left), 0o700), os.WriteFile(left, make([]byte, 100), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestACancelledTrialIsNoFailureOfTheWorkload(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"16Mi"}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Engine{Program: fake(t, "", "", "sleep 60")}).Run(ctx, env); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
