package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// maxStdout is how many bytes are kept of the end of stdout.
	maxStdout = 16 << 20
	// maxStderr is how many bytes are kept of the end of stderr.
	maxStderr = 16 << 10
)

// StopWait is how long a program may take to end after SIGTERM before it is killed.
const StopWait = 10 * time.Second

// Command is a program to run.
type Command struct {
	// Program and its arguments.
	Program string
	Args    []string
	// Dir is where it runs.
	Dir string
	// Scratch is its home and its place for temporary files.
	Scratch string
	// Watch reports what the scheduler does with its threads, as Result.Schedule.
	Watch bool
}

// Result of a program that ran.
type Result struct {
	Argv   []string
	Stdout []byte
	Stderr string
	// Err of the process; nil for exit status 0.
	Err error
	// Schedule of the program's own threads, if they were watched.
	Schedule Schedule
}

// Run executes a program and waits for it and for everything that it started.
func Run(ctx context.Context, c Command) Result {
	cmd := exec.CommandContext(ctx, c.Program, c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C", "HOME=" + c.Scratch, "TMPDIR=" + c.Scratch}
	stdout, stderr := &tail{limit: maxStdout}, &tail{limit: maxStderr}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	r := Result{Argv: cmd.Args}
	r.Schedule, r.Err = supervise(cmd, c.Watch)
	r.Stdout, r.Stderr = stdout.kept, stderr.String()
	return r
}

// Installed reports whether the program could be started. If not, Result.Err says why.
func (r Result) Installed() bool {
	_, ended := errors.AsType[*exec.ExitError](r.Err)
	return r.Err == nil || ended
}

// supervise runs cmd so that it ends, with its children, when this program does.
func supervise(cmd *exec.Cmd, watch bool) (Schedule, error) {
	// The tool has a process group of its own, so that Ctrl-C on a terminal reaches only
	// this program, which then stops the tool's whole group. If this program is killed, the
	// kernel kills the tool, which would otherwise continue to write to the target. The
	// kernel does so when the thread that forked ends, so that thread must live as long as
	// the tool.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = StopWait
	type outcome struct {
		schedule Schedule
		err      error
	}
	ended := make(chan outcome, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var o outcome
		if o.err = cmd.Start(); o.err == nil {
			var threads *Scheduler
			if watch {
				threads = WatchSchedule("/proc", cmd.Process.Pid)
			}
			o.err = cmd.Wait()
			if watch {
				o.schedule = threads.End()
			}
		}
		if cmd.Process != nil {
			// Kill its children that are still there, after a failure or a stop.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // usually there are none
		}
		ended <- o
	}()
	o := <-ended
	return o.schedule, o.err
}

// ReadBounded reads a file that a program has written, of at most limit bytes.
func ReadBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %d MiB", path, limit>>20)
	}
	return b, err
}

// tail keeps the end of what is written to it. It has no method but these two:
// io.Copy would find its way around Write through a ReadFrom.
type tail struct {
	limit int
	kept  []byte
	cut   bool
}

// Write never fails, so that the process is never stopped by a full pipe.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.cut = true
	}
	return len(p), nil
}

func (t *tail) String() string {
	s := strings.ToValidUTF8(string(t.kept), "?")
	if t.cut {
		return "…" + s
	}
	return s
}
