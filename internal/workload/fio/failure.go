package fio

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// diagnose turns what fio left behind into a failure: its exit status, the
// errors of its jobs, and what it said. Messages alone are no failure.
func diagnose(env workload.Env, jobs []job, exit error, d *document, messages string) error {
	errno := firstError(d)
	if exit == nil && errno == 0 {
		return nil
	}
	f := &trial.Failure{Class: trial.WorkloadFailed, Field: field(env, "fio"), Workload: env.Workload.Name, Err: exit}
	if errno != 0 {
		f.Err = errno
	}
	engine := usedEngine(jobs)
	said := lastLines(messages, 3)
	var started *exec.ExitError
	switch {
	case exit != nil && !errors.As(exit, &started):
		f.Class, f.Message = trial.InternalError, "fio cannot be run: "+exit.Error()
		f.Remedy = "install fio, or use the runner's image, which has it"
	case errno == syscall.ENOSPC || strings.Contains(messages, "No space left on device"):
		f.Class, f.Field = trial.NoSpace, targetField(env.Target)
		f.Message = "the target became full while fio wrote to it"
		f.Remedy = "make the target larger or lower size of the workload; see what else writes to it"
	case engine != "" && refusedEngine(engine, errno, messages):
		f.Class, f.Field = trial.EngineRefused, optionField(env, "ioengine")
		f.Message = fmt.Sprintf("the node refuses ioengine=%s: %s", engine, said)
		f.Remedy = "use ioengine=libaio"
		if engine == "io_uring" {
			f.Remedy += ", or allow io_uring in the node's seccomp profile and kernel.io_uring_disabled"
		}
	case errno == syscall.EINVAL && anyDirect(jobs) && directRefused(messages):
		f.Class, f.Field = trial.EngineRefused, optionField(env, "direct")
		f.Message = "the target refuses direct I/O with these sizes: " + said
		f.Remedy = "make bs and offset multiples of the device's block size, or set direct=0 and know that the page cache is measured"
	case d == nil || len(d.Jobs) == 0:
		f.Class, f.Field = trial.InvalidJobFile, jobField(env)
		f.Message = "fio does not accept the job: " + said
		f.Remedy = "change the option that fio names"
	case errno == syscall.EILSEQ:
		f.Message = "data that was read is not what was written: " + said
		f.Remedy = "do not trust this storage before the cause is known"
	default:
		f.Message = "fio failed: " + said
		if errno != 0 {
			f.Message += fmt.Sprintf(" (%v)", errno)
		}
	}
	return f
}

func firstError(d *document) syscall.Errno {
	if d == nil {
		return 0
	}
	for i := range d.Jobs {
		if e := d.Jobs[i].Error; e != 0 {
			return syscall.Errno(e)
		}
	}
	return 0
}

// usedEngine is the engine of the jobs if they all have the same one that the
// kernel can refuse.
func usedEngine(jobs []job) string {
	for _, j := range jobs {
		if e := j.options["ioengine"]; e == "io_uring" || e == "libaio" {
			return e
		}
	}
	return ""
}

func refusedEngine(engine string, errno syscall.Errno, messages string) bool {
	if strings.Contains(messages, "engine "+engine+" not loadable") || strings.Contains(messages, "failed to load engine") {
		return true
	}
	refusal := errno == syscall.EPERM || errno == syscall.ENOSYS || errno == syscall.EACCES
	asked := strings.Contains(messages, "io_queue_init") || strings.Contains(messages, "your kernel doesn't support io_uring") || strings.Contains(messages, "io_uring_setup")
	return asked || refusal && strings.Contains(messages, engine)
}

func directRefused(messages string) bool {
	return strings.Contains(messages, "O_DIRECT") || strings.Contains(messages, "direct IO") || strings.Contains(messages, "Invalid argument")
}

func anyDirect(jobs []job) bool {
	for _, j := range jobs {
		if j.direct() {
			return true
		}
	}
	return false
}

// optionField is where the user wrote an option.
func optionField(env workload.Env, option string) string {
	c, err := decode(env.Workload.Config)
	if err == nil && c.JobFile == "" {
		return field(env, fieldParameters+"."+option)
	}
	return field(env, fieldJobFile)
}

func jobField(env workload.Env) string {
	c, err := decode(env.Workload.Config)
	if err == nil && c.JobFile == "" {
		return field(env, fieldParameters)
	}
	return field(env, fieldJobFile)
}

// lastLines is the end of what fio said, in one line.
func lastLines(messages string, n int) string {
	var lines []string
	for line := range strings.Lines(messages) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "it said nothing"
	}
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
