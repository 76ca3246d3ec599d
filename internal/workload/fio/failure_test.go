package fio

import (
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// What fio fails at depends on the disk and the kernel; what it says then is real.
func TestWhatFioFailsAtHasARemedy(t *testing.T) {
	const preRead = "fio: pid=4107, err=5/file:filesetup.c:331, func=pre_read, error=Input/output error"
	for name, c := range map[string]struct {
		job, messages string
		errno         syscall.Errno
		class         trial.Class
		remedy        string
	}{
		"pre_read past the page cache": {"rw=read\nsize=1m\npre_read=1\ndirect=1", preRead, syscall.EIO, reason.EngineRefused, "remove pre_read"},
		"trims of what is in memory":   {"rw=trimwrite\nsize=1m\nruntime=2", "fio: pid=19, err=16/file:ioengines.c:399, func=td_io_queue, error=Device or resource busy", syscall.EBUSY, reason.EngineRefused, "loops"},
		"pre_read of a bad disk":       {"rw=read\nsize=1m\npre_read=1", preRead, syscall.EIO, reason.WorkloadFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(config{JobFile: "[a]\n" + c.job + "\n", Prefill: prefillAuto})
			if err != nil {
				t.Fatal(err)
			}
			conf, err := decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			jobs, err := resolve(conf, trial.Block, parametersName)
			if err != nil {
				t.Fatal(err)
			}
			env := workload.Env{Workload: trial.Workload{Name: "w", Engine: "fio", Config: raw}}
			f := failure(t, diagnose(env, jobs, ending{errno: c.errno, reported: true, messages: c.messages + "\n"}))
			if f.Class != c.class || !strings.Contains(f.Remedy, c.remedy) || !strings.HasSuffix(f.Field, "fio.jobFile") && c.remedy != "" || !strings.Contains(f.Message, c.messages) {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// A fio that the kernel has ended says nothing itself, and it was no option that it did not accept.
func TestASignalThatEndsFioIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		signal, engine  string
		class           trial.Class
		message, remedy string
	}{
		"a mapped file without room": {"BUS", "mmap", reason.NoSpace, "a mapped file has no room", "make the target larger"},
		"a bad access":               {"BUS", "psync", reason.WorkloadFailed, `the signal "bus error"`, "the kernel's log"},
		"out of memory":              {"KILL", "mmap", reason.WorkloadFailed, `the signal "killed"`, "out of memory"},
	} {
		jobs, err := resolve(parameters("ioengine="+c.engine, "rw=randwrite"), trial.Filesystem, "w")
		if err != nil {
			t.Fatal(err)
		}
		exit := exec.CommandContext(t.Context(), "sh", "-c", "kill -"+c.signal+" $$").Run()
		f := failure(t, diagnose(workload.Env{Workload: trial.Workload{Name: "w", Engine: "fio"}}, jobs, ending{exit: exit}))
		if f.Class != c.class || !strings.Contains(f.Message, c.message) || !strings.Contains(f.Remedy, c.remedy) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
