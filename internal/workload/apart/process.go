package apart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/tool"
)

const (
	// stopWait is how long a process may take to end after SIGTERM: its tool may take
	// tool.StopWait, and then the engine removes what the tool left.
	stopWait = tool.StopWait + 3*time.Second
	// killWait is how long a process may take to end after SIGKILL. A process that waits for a
	// disk in the kernel does not end before the disk answers.
	killWait = 10 * time.Second
	// drainWait is how long it may take to read what an ended process wrote.
	drainWait = time.Second

	// StopLimit bounds how long an engine takes to end once its context has ended.
	StopLimit = stopWait + killWait + drainWait
)

var (
	errKilled = errors.New("it was killed")

	// ErrStuck reports that an engine's process cannot be killed, as it waits for storage in
	// the kernel. It may still write to the target.
	ErrStuck = fmt.Errorf("its process did not end within %s of being killed; see whether the storage still answers", killWait)
)

// Interrupted is an engine that was stopped because its context had ended.
type Interrupted struct {
	// Cause is the context's error.
	Cause error
	// Stuck reports that the engine's process did not end.
	Stuck bool
	// Words is the end of what it printed beside its log.
	Words string
}

// Error gives the cause and what is known of the process.
func (e *Interrupted) Error() string { return e.Cause.Error() + e.Detail() }

// Detail returns what is known about the process, to be appended to another message. It is
// empty if the process ended and printed nothing.
func (e *Interrupted) Detail() string {
	detail := ""
	if e.Stuck {
		detail = "; " + ErrStuck.Error()
	}
	if e.Words != "" {
		detail += "; it printed: " + e.Words
	}
	return detail
}

// Unwrap returns the cause, and ErrStuck if the process is.
func (e *Interrupted) Unwrap() []error {
	if e.Stuck {
		return []error{e.Cause, ErrStuck}
	}
	return []error{e.Cause}
}

// interrupted returns the error of an engine that was stopped: cause is why, err how it ended.
func (p *process) interrupted(cause, err error) error {
	i := &Interrupted{Cause: cause, Stuck: errors.Is(err, ErrStuck)}
	if words := p.words(); words != "" {
		i.Words = workload.LastWords(words)
	}
	return i
}

// process is the process of an engine.
type process struct {
	request, result *os.File
	log             *logReader
	pid             int
	ended           chan struct{}
	err             error // how it ended
}

// start starts the process, which confines itself and waits for a request.
func start(ctx context.Context, engine string, c confinement, log *slog.Logger) (*process, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var theirs, ours []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				theirs, ours = append(theirs, r), append(ours, w)
			}
		}
		return r, w
	}
	stdin, request := pipe()
	results, result := pipe()
	output, stderr := pipe()
	if err != nil {
		closeAll(append(theirs, ours...))
		return nil, err
	}
	theirs, ours = []*os.File{stdin, result, stderr}, []*os.File{request, results, output}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{program, Command, engine, string(text)}, Dir: "/",
		Env: []string{"PATH=" + os.Getenv("PATH")}, Stdin: stdin, Stdout: stderr, Stderr: stderr, ExtraFiles: []*os.File{result},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if c.User != 0 {
		// It is the first process of its namespace, so everything that it started ends with
		// it.
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
	}
	p := &process{request: request, result: results, ended: make(chan struct{})}
	started := make(chan error)
	go p.run(cmd, started)
	err = <-started
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	p.log = newLogReader(ctx, output, log)
	return p, nil
}

// run starts the process and waits for it, in one thread: if the thread ended, so would the
// process.
func (p *process) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	p.err = cmd.Wait()
	_ = syscall.Kill(-p.pid, syscall.SIGKILL) // usually nothing is left
	close(p.ended)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // a pipe
	}
}

// exchange sends the process its request and returns its reply, or why there is none. When ctx
// ends, it stops the process.
func (p *process) exchange(ctx context.Context, r request) (reply, error) {
	type outcome struct {
		reply reply
		err   error
	}
	replies := make(chan outcome, 1)
	go func() {
		got, err := p.converse(r)
		replies <- outcome{got, err}
	}()
	stop, ended := ctx.Done(), p.ended
	var late <-chan time.Time
	for {
		select {
		case o := <-replies:
			return o.reply, p.end(o.err)
		case <-ended:
			// What it wrote before is still in the pipe. Do not wait for others that may hold
			// the pipe open.
			ended = nil
			_ = p.result.SetReadDeadline(time.Now().Add(drainWait)) // a pipe has deadlines
		case <-stop:
			stop, late = nil, time.After(stopWait)
			_ = syscall.Kill(p.pid, syscall.SIGTERM) // it may have ended
		case <-late:
			return reply{}, p.end(ctx.Err())
		}
	}
}

// converse waits until the process is ready, and for its reply.
func (p *process) converse(r request) (reply, error) {
	first := make([]byte, 1)
	if _, err := p.result.Read(first); err != nil || first[0] != ready {
		return reply{}, errNoResult
	}
	text, err := json.Marshal(r)
	if err != nil {
		return reply{}, err
	}
	// Before the engine can begin: on a busy machine this process may wait after it has written.
	begin, before := time.Now(), cpuTime()
	if _, err := p.request.Write(text); err != nil {
		return reply{}, errNoResult
	}
	if err := p.request.Close(); err != nil {
		return reply{}, err
	}
	var waited, used time.Duration
	got, err := readReply(p.result, func() { waited, used = time.Since(begin), cpuTime()-before })
	got.waited, got.runnerCPU = waited, used
	if err == nil && got.Elapsed > waited {
		err = fmt.Errorf("it claims to have run for %s, but replied after %s", got.Elapsed, waited)
	}
	return got, err
}

// end waits until the process has ended, as it does after its reply, or kills it. It returns
// err, or an error that says more.
func (p *process) end(err error) error {
	wait := killWait
	if err != nil && !errors.Is(err, errNoResult) {
		wait = 0
	}
	ended := p.wait(wait)
	byUs := !ended
	if !ended {
		_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have ended
		ended = p.wait(killWait)
	}
	_ = p.request.Close() // for the second time, usually
	_ = p.result.Close()  // a pipe
	p.log.close()
	switch {
	case !ended:
		return ErrStuck
	case errors.Is(err, errNoResult) && !byUs:
		return howEnded(p.err)
	default:
		return err
	}
}

// howEnded returns how a process ended that has not replied.
func howEnded(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return errNoResult
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return fmt.Errorf("%w: %w (%w)", errNoResult, errKilled, err)
	}
	return fmt.Errorf("%w: %w", errNoResult, err)
}

func (p *process) wait(limit time.Duration) (ended bool) {
	select {
	case <-p.ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// words returns the end of what the process printed beside its log, or its panic.
func (p *process) words() string { return p.log.words() }
