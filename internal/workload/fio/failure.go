package fio

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// ending is how an invocation of fio ended.
type ending struct {
	// exit is the process's error; nil for status 0.
	exit error
	// errno is the first error of a job.
	errno syscall.Errno
	// reported reports that fio came far enough to report jobs.
	reported bool
	messages string
}

func endingOf(exit error, d *document, messages string) ending {
	e := ending{exit: exit, messages: messages}
	if d == nil {
		return e
	}
	e.reported = len(d.Jobs) > 0
	for i := range d.Jobs {
		if e.errno == 0 {
			e.errno = syscall.Errno(d.Jobs[i].Error)
		}
	}
	return e
}

// diagnose turns an ending into a failure, or nil. Messages alone are no failure:
// fio warns of harmless things on stderr.
func diagnose(env workload.Env, jobs []job, e ending) error {
	if e.exit == nil && e.errno == 0 {
		return nil
	}
	f := &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("fio"), Workload: env.Workload.Name, Err: e.exit}
	if e.errno != 0 {
		f.Err = e.errno
	}
	engine := e.refusedEngine(jobs)
	switch _, ended := errors.AsType[*exec.ExitError](e.exit); {
	case e.exit != nil && !ended:
		f.Class = reason.InternalError
		f.Message, f.Remedy = "cannot start fio: "+e.exit.Error(), "install fio, or use the runner's image, which contains it"
	case e.errno == syscall.ENOSPC || e.errno == syscall.EDQUOT:
		f.Class, f.Field = reason.NoSpace, env.SizeField()
		f.Message, f.Remedy = "the target became full while fio wrote to it", "make the target larger or lower the workload's size, and check what else writes to it"
	case engine != "":
		f.Class, f.Field = reason.EngineRefused, optionField(env, "ioengine")
		f.Message, f.Remedy = fmt.Sprintf("the node refuses ioengine=%s: %s", engine, e.said()), engineRemedy(engine, e.errno)
	case e.errno == syscall.EINVAL && strings.Contains(e.messages, "does not support O_DIRECT"):
		f.Class, f.Field = reason.EngineRefused, optionField(env, "direct")
		f.Message, f.Remedy = "the target refuses direct=1: "+e.said(), "set direct=0 and measure the page cache as well"
	case e.errno == syscall.EINVAL && strings.Contains(e.messages, "Invalid argument: ") && slices.ContainsFunc(jobs, job.direct):
		f.Class, f.Field = reason.EngineRefused, optionField(env, "direct")
		f.Message = "the target refuses direct=1 with these sizes: " + e.said()
		f.Remedy = "make bs and offset multiples of the device's block size, or set direct=0 and measure the page cache as well"
	case strings.Contains(e.messages, "func=pre_read") && slices.ContainsFunc(jobs, job.direct):
		f.Class, f.Field = reason.EngineRefused, optionField(env, "pre_read")
		f.Message = "fio cannot read the files into memory first where direct=1: its buffer for that is not aligned: " + e.said()
		f.Remedy = "remove pre_read, as direct I/O does not read what is in memory; or set direct=0"
	case e.errno == syscall.EBUSY && slices.ContainsFunc(jobs, func(j job) bool { return j.pattern() == "trimwrite" }):
		f.Class, f.Field = reason.EngineRefused, optionField(env, "rw")
		f.Message = "the kernel trims no block that is in memory and not written yet, and fio writes through memory with rw=trimwrite, whatever direct says: " + e.said()
		f.Remedy = "set end_fsync=1, and loops in place of runtime and time_based, so that fio syncs before it trims the same blocks again"
	case e.signal() == syscall.SIGBUS && slices.ContainsFunc(jobs, func(j job) bool { return j.engine() == "mmap" }):
		f.Class, f.Field = reason.NoSpace, env.SizeField()
		f.Message = "the kernel ended fio, as a page of a mapped file has no room on the target, or cannot be read: " + e.said()
		f.Remedy = "make the target larger or lower the workload's size (a file system that copies on write needs room for both), or use another ioengine than mmap, which would be told"
	case e.signal() != 0:
		f.Message = fmt.Sprintf("fio was ended by the signal %q: %s", e.signal(), e.said())
		f.Remedy = "see the kernel's log of the node: out of memory, or a fault of fio with these options"
	case !e.reported:
		f.Class, f.Field = reason.InvalidJobFile, optionField(env, "")
		f.Message, f.Remedy = "fio does not accept the job: "+e.said(), "change the option that fio names"
	case e.errno == syscall.EILSEQ:
		f.Message, f.Remedy = "what was read is not what was written: "+e.said(), "do not trust this storage until the cause is known"
	case e.errno != 0:
		f.Message = fmt.Sprintf("fio failed: %v: %s", e.errno, e.said())
	default:
		f.Message = fmt.Sprintf("fio failed: %v: %s", e.exit, e.said())
	}
	return f
}

// signal that ended fio; 0: it ended by itself.
func (e ending) signal() syscall.Signal {
	if exit, ok := errors.AsType[*exec.ExitError](e.exit); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return status.Signal()
		}
	}
	return 0
}

var (
	notLoadable = regexp.MustCompile(`engine (\w+) not loadable`)
	// queueInit is where an engine asks the kernel for what it needs.
	queueInit = regexp.MustCompile(`engines/(\w+)\.c:\d+, func=\w*(?:queue_init|io_setup)\b`)
)

// refusedEngine is the engine that could not begin, or "".
func (e ending) refusedEngine(jobs []job) string {
	for _, pattern := range []*regexp.Regexp{notLoadable, queueInit} {
		if m := pattern.FindStringSubmatch(e.messages); m != nil {
			return m[1]
		}
	}
	if strings.Contains(e.messages, "your kernel doesn't support io_uring") {
		return "io_uring"
	}
	if e.errno == syscall.ENOSYS && slices.ContainsFunc(jobs, func(j job) bool { return j.engine() == "io_uring" }) {
		return "io_uring"
	}
	return ""
}

func engineRemedy(engine string, errno syscall.Errno) string {
	switch {
	case engine == "io_uring":
		return "use ioengine=libaio, or allow io_uring in the node's seccomp profile and its sysctl kernel.io_uring_disabled"
	case engine == "libaio" && errno == syscall.EAGAIN:
		return "raise the node's sysctl fs.aio-max-nr, or lower iodepth and numjobs"
	default:
		return "use ioengine=libaio or ioengine=psync"
	}
}

// said is the end of what fio said, in one line.
func (e ending) said() string {
	const keep = 3
	var lines []string
	for line := range strings.Lines(e.messages) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "fio printed no error"
	}
	return strings.Join(lines[max(0, len(lines)-keep):], "; ")
}

// optionField is where the user wrote an option.
func optionField(env workload.Env, option string) string {
	c, err := decode(env.Workload.Config)
	if err != nil || c.JobFile != "" {
		return env.Field(fieldJobFile)
	}
	if c.CommandLine != "" {
		return env.Field(fieldCommandLine)
	}
	if option == "" {
		return env.Field(fieldParameters)
	}
	return env.Field(fieldParameters + "." + option)
}

// linuxEngines are those that only Linux has.
var linuxEngines = []string{"libaio", "io_uring", "io_uring_cmd", "sg", "pvsync2", "splice", "e4defrag", "falloc"}

// errorOf names the error of a job. Only the first numbers mean the same on all systems,
// but for EAGAIN and EDEADLK; fio may have printed the text.
func errorOf(j *foreignJob, before []byte) string {
	const common = 34 // ERANGE
	number := fmt.Sprintf("error %d", j.Error)
	text := regexp.MustCompile(fmt.Sprintf(`err=%d/[^\n]{0,300}error=([^\n]{1,80})`, j.Error))
	if m := text.FindSubmatch(before); m != nil {
		return number + ": " + clip(clean(m[1]))
	}
	if j.Error > 0 && (j.Error <= common && j.Error != int(syscall.EAGAIN) || slices.Contains(linuxEngines, j.settings()["ioengine"])) {
		return fmt.Sprintf("%s: %v", number, syscall.Errno(j.Error))
	}
	return number + " of its operating system"
}
