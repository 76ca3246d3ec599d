package fio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"storagebench.io/storagebench/internal/workload"
)

const (
	// maxOutput bounds what is read of fio's output: about 100 KB a clone.
	maxOutput = 256 << 20
	// maxStderr is what is kept of stderr, from its end.
	maxStderr = 16 << 10
	// stopWait is how long fio may take to end after SIGTERM before it is killed.
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
	cmd := exec.CommandContext(ctx, program,
		"--output-format=json+", "--output="+output, "--eta=never",
		"--max-jobs="+strconv.FormatUint(threads+1, 10), input)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C", "HOME=" + env.Scratch, "TMPDIR=" + env.Scratch}
	stderr := &tail{limit: maxStderr}
	cmd.Stdout, cmd.Stderr = io.Discard, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWait
	inv := invocation{argv: cmd.Args}
	inv.err = supervise(cmd)
	inv.stderr = stderr.String()

	var err error
	inv.output, err = readBounded(output, maxOutput)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return inv, fmt.Errorf("fio: its output: %w", err)
	}
	return inv, nil
}

// supervise runs cmd so that it ends when this program does. Its jobs are threads,
// so that the one process is all there is to end.
func supervise(cmd *exec.Cmd) error {
	// Ctrl-C on a terminal is for this program, which stops fio itself. If this
	// program is killed, the kernel kills fio: it would go on writing to the
	// target. That signal is tied to the thread that forks, which must therefore
	// live until fio has ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		ended <- cmd.Run()
	}()
	return <-ended
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
