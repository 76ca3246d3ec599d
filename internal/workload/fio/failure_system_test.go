//go:build system

package fio

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload/tool"
)

func TestAVolumeThatFillsUpIsNoSpace(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	env := newEnv(t, dir, parameters("rw=write", "size=32m", "fallocate=none", "fsync=64"))
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	// Somebody else writes meanwhile.
	if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Engine{}.Run(t.Context(), env)
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != reason.NoSpace || f.Field != "spec.targets[fast].storageClass.size" || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %+v", err)
	}
	if m == nil || !strings.Contains(m.Stderr, "No space left") || len(m.RawOutput) == 0 {
		t.Error("what fio said is not kept")
	}
}

func TestIOURingThatIsRefusedIsNamed(t *testing.T) {
	if os.Getenv(denyIOURing) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), denyIOURing+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	env := newEnv(t, t.TempDir(), parameters("rw=write", "size=1m", "ioengine=io_uring"))
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	_, err := Engine{}.Run(t.Context(), env)
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != reason.EngineRefused || f.Field != "spec.workloads[w].fio.parameters.ioengine" ||
		!strings.Contains(f.Remedy, "libaio") || !strings.Contains(f.Remedy, "seccomp") || !strings.Contains(f.Message, "Operation not permitted") {
		t.Errorf("got %+v", err)
	}
}

func TestOtherFailuresOfFio(t *testing.T) {
	for name, c := range map[string]struct {
		config  config
		program string
		want    trial.Failure
	}{
		"direct I/O that is not aligned": {
			config: parameters("rw=write", "size=1m", "bs=1000"),
			want:   trial.Failure{Class: reason.EngineRefused, Field: "spec.workloads[w].fio.parameters.direct", Message: "Invalid argument"},
		},
		"a CPU that is not there": {
			config: config{JobFile: "[a]\nrw=write\nsize=1m\ncpus_allowed=4000"},
			want:   trial.Failure{Class: reason.InvalidJobFile, Field: "spec.workloads[w].fio.jobFile", Message: "cpus_allowed=4000"},
		},
		"no fio": {
			config: parameters("rw=write", "size=1m"), program: "/nonexistent/fio",
			want: trial.Failure{Class: reason.InternalError, Field: "spec.workloads[w].fio", Message: "no such file"},
		},
		"another program": {
			config: parameters("rw=write", "size=1m"), program: "true",
			want: trial.Failure{Class: reason.WorkloadFailed, Field: "spec.workloads[w].fio", Message: "fio printed no result"},
		},
		"data that is not what was written": {
			config: parameters("rw=read", "size=1m", "verify=md5", "runtime=1"),
			want:   trial.Failure{Class: reason.WorkloadFailed, Field: "spec.workloads[w].fio", Message: "what was read is not what was written"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, t.TempDir(), c.config)
			e := Engine{Program: c.program}
			err := e.Prepare(t.Context(), env) // which fails in the same way if it lays out files
			if err == nil {
				_, err = e.Run(t.Context(), env)
			}
			f, ok := errors.AsType[*trial.Failure](err)
			if !ok || f.Class != c.want.Class || f.Field != c.want.Field || !strings.Contains(f.Message, c.want.Message) || f.Workload != "w" {
				t.Errorf("got %+v", err)
			}
		})
	}
}

func TestACancelledTrialLeavesNoFio(t *testing.T) {
	env := newEnv(t, t.TempDir(), parameters("rw=randwrite", "size=8m", "numjobs=4", "runtime=1h", "time_based=1"))
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Engine{}.Run(ctx, env)
		ended <- err
	}()
	waitFor(t, "fio to start", func() bool { return len(fiosIn(t, directory(env))) > 0 })
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(tool.StopWait + 10*time.Second):
		t.Fatal("it does not end")
	}
	if pids := fiosIn(t, directory(env)); len(pids) != 0 {
		t.Errorf("processes %v are left", pids)
	}
}

func TestDirectIOThatIsRefusedIsNamed(t *testing.T) {
	dir := t.TempDir()
	devicetest.Mount(t, dir, "ramfs", "ramfs") // which has no size either
	env := newEnv(t, dir, parameters("rw=write", "size=1m", "fsync=1", "runtime=1"))
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	m, err := Engine{}.Run(t.Context(), env)
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != reason.EngineRefused || f.Field != "spec.workloads[w].fio.parameters.direct" || !strings.Contains(f.Remedy, "direct=0") {
		t.Errorf("got %+v", err)
	}
	if m == nil || m.DirectIO.Effective != result.DirectRefused {
		t.Errorf("the measurement is %+v", m)
	}
}

// A fio that lays out nothing and says nothing is not believed: what it leaves are holes.
func TestAPrefillThatWritesNothingIsAFailure(t *testing.T) {
	program := filepath.Join(t.TempDir(), "fio")
	script := `#!/bin/sh
for word; do
  case $word in --output=*) echo '{"fio version": "fio-3.33", "jobs": [{"jobname": "w", "error": 0, "job_runtime": 1}]}' >"${word#--output=}" ;; esac
done
`
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	env := newEnv(t, t.TempDir(), parameters("rw=randread", "size=1m"))
	err := Engine{Program: program}.Prepare(t.Context(), env)
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != reason.WorkloadFailed || f.Field != "spec.workloads[w].fio" || !strings.Contains(f.Message, "the files of job w") || f.Remedy == "" {
		t.Errorf("got %+v", err)
	}
}
