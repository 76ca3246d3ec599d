package fio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"storagebench.io/storagebench/internal/workload"
)

const (
	// maxOutput bounds what is read of fio's output: about 100 KB a clone.
	maxOutput = 256 << 20
	// maxStderr is what is kept of stderr, from its end.
	maxStderr = 16 << 10
	// stopWait is how long fio may take to stop before it is killed.
	stopWait = 10 * time.Second
)

// invocation is one finished run of fio.
type invocation struct {
	argv   []string
	output []byte // the --output file
	stderr string
	err    error // of the process; nil for exit status 0
}

// execute runs fio with a job file, in dir, and waits for it. If ctx ends, fio
// is stopped first. Whatever happens, no process of it is left.
func execute(ctx context.Context, program string, env workload.Env, dir, jobFile string, threads uint64) (invocation, error) {
	input := filepath.Join(env.Scratch, "job.fio")
	output := filepath.Join(env.Scratch, "output.json")
	if err := os.WriteFile(input, []byte(jobFile), 0o600); err != nil {
		return invocation{}, fmt.Errorf("fio: %w", err)
	}
	if err := os.Remove(output); err != nil && !errors.Is(err, os.ErrNotExist) {
		return invocation{}, fmt.Errorf("fio: %w", err)
	}
	cmd := exec.Command(program,
		"--output-format=json+", "--output="+output, "--eta=never",
		"--max-jobs="+strconv.FormatUint(threads+1, 10), input)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C", "HOME=" + env.Scratch, "TMPDIR=" + env.Scratch}
	stderr := &tail{limit: maxStderr}
	cmd.Stdout, cmd.Stderr = io.Discard, stderr
	inv := invocation{argv: cmd.Args}
	inv.err = supervise(ctx, cmd)
	inv.stderr = stderr.String()

	var err error
	inv.output, err = readBounded(output, maxOutput)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return inv, fmt.Errorf("fio: its output: %w", err)
	}
	return inv, nil
}

// supervise starts cmd in a process group of its own and returns when it, and all
// of the group, has ended.
func supervise(ctx context.Context, cmd *exec.Cmd) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// If this program is killed, the kernel kills fio: without Pdeathsig it would
	// go on writing to the target. The signal is tied to the thread that forks,
	// which must therefore live until fio has ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started, done := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			done <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	group := -cmd.Process.Pid
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	_ = syscall.Kill(group, syscall.SIGTERM) // fails only if it has ended
	timer := time.NewTimer(stopWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		_ = syscall.Kill(group, syscall.SIGKILL)
		<-done
	}
	return ctx.Err()
}

func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %s", filepath.Base(path), human(uint64(limit)))
	}
	return b, err
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	bytes.Buffer
	cut bool
}

// Write never fails, so that the process is never stopped by a full pipe.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	t.Buffer.Write(p)
	if over := t.Len() - t.limit; over > 0 {
		t.Next(over)
		t.cut = true
	}
	return n, nil
}

func (t *tail) String() string {
	s := string(bytes.ToValidUTF8(t.Bytes(), []byte("?")))
	if t.cut {
		return "…" + s
	}
	return s
}
