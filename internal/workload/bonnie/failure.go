package bonnie

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/tool"
)

// complaints are the beginnings of what bonnie++ says of system calls that failed.
// After some it goes on and exits with 0, as if it had measured something.
var complaints = []string{"Can't ", "Bonnie: drastic I/O error", "Error in lseek", "Expected "}

// diagnose turns the end of bonnie++ into a failure, or nil. files is how many small
// ones it creates.
func diagnose(env workload.Env, r tool.Result, files int64) error {
	if !r.Installed() {
		return &trial.Failure{
			Class: reason.InternalError, Field: env.Field("bonnie"), Workload: env.Workload.Name, Err: r.Err,
			Message: "cannot start bonnie++: " + r.Err.Error(), Remedy: "install bonnie++, or use the runner's image, which contains it",
		}
	}
	if r.Err == nil && !complained(r.Stderr) {
		return nil
	}
	said := workload.LastWords(r.Stderr)
	if errno := causeOf(env, r.Stderr, files); errno != 0 {
		return env.Refused("bonnie", said, errno)
	}
	f := &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("bonnie"), Workload: env.Workload.Name, Err: r.Err}
	switch {
	case strings.Contains(r.Stderr, "usage:"):
		f.Class, f.Message = reason.InternalError, "this bonnie++ rejects its arguments: "+said
		f.Remedy = "install bonnie++ 2.00, or use the runner's image, which contains it"
	case strings.Contains(r.Stderr, "Can't sync file"):
		f.Class, f.Field = reason.TargetUnusable, env.SizeField()
		f.Message, f.Remedy = "fsync failed while bonnie++ wrote: "+said, "do not trust this storage until the cause is known: check the kernel log on the node"
	case r.Err == nil:
		f.Message = "bonnie++ reported: " + said
	default:
		f.Message = fmt.Sprintf("bonnie++ failed: %v: %s", r.Err, said)
	}
	return f
}

func complained(stderr string) bool {
	for line := range strings.Lines(stderr) {
		for _, c := range complaints {
			if strings.HasPrefix(line, c) {
				return true
			}
		}
	}
	return false
}

// causeOf is why a system call failed: what bonnie++ says, or, as it mostly does not,
// what the target says now.
func causeOf(env workload.Env, stderr string, files int64) syscall.Errno {
	if errno := workload.ErrnoIn(stderr); errno != 0 {
		return errno
	}
	if !complained(stderr) {
		return 0
	}
	if errno := try(env.Dir); errno != 0 {
		return errno
	}
	free, limited := freeInodes(env.Dir)
	switch {
	case strings.Contains(stderr, "Can't create file") && limited && free < uint64(files):
		return syscall.ENOSPC // bonnie++ has removed the files again
	case strings.Contains(stderr, "disk full?"):
		return syscall.ENOSPC
	}
	return 0
}

// try writes a small file, and returns what prevents it.
func try(dir string) syscall.Errno {
	path := filepath.Join(dir, ".bonnie-try")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = f.Write(make([]byte, 64<<10))
		err = errors.Join(err, f.Sync(), f.Close(), os.Remove(path))
	}
	errno, _ := errors.AsType[syscall.Errno](err)
	return errno
}
