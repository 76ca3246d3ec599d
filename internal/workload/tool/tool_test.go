package tool

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAProgramsOutputAndItsEndAreKept(t *testing.T) {
	dir := t.TempDir()
	r := Run(t.Context(), Command{Program: "sh", Args: []string{"-c", "pwd; echo $HOME; echo wrong >&2; exit 3"}, Dir: dir, Scratch: "/elsewhere"})
	ended, ok := errors.AsType[*exec.ExitError](r.Err)
	if !ok || ended.ExitCode() != 3 || !r.Installed() {
		t.Errorf("it ended with %v", r.Err)
	}
	if string(r.Stdout) != dir+"\n/elsewhere\n" || r.Stderr != "wrong\n" || len(r.Argv) != 3 {
		t.Errorf("stdout %q, stderr %q, argv %q", r.Stdout, r.Stderr, r.Argv)
	}
	if missing := Run(t.Context(), Command{Program: filepath.Join(dir, "nothing")}); missing.Installed() {
		t.Errorf("a program that is not there: %v", missing.Err)
	}
}

func TestWhatAProgramHasStartedEndsWithIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	done := make(chan Result, 1)
	go func() {
		// The child ignores the signal that its parent ends by.
		done <- Run(ctx, Command{Program: "sh", Args: []string{"-c", `sh -c 'trap "" TERM; echo $$ > child; while :; do sleep 0.1; done' & wait`}, Dir: dir})
	}()
	var pid string
	for deadline := time.Now().Add(20 * time.Second); pid == ""; time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(filepath.Join(dir, "child")) // not yet
		pid = strings.TrimSpace(string(b))
		if time.Now().After(deadline) {
			t.Fatal("the child does not begin")
		}
	}
	cancel()
	select {
	case r := <-done:
		if r.Err == nil {
			t.Error("a program that was stopped ended well")
		}
	case <-time.After(2*StopWait + 10*time.Second):
		t.Fatal("it does not end")
	}
	for deadline := time.Now().Add(10 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("its child %s goes on", pid)
		}
	}
}

// alive reports that a process is there and not just waiting to be collected.
func alive(pid string) bool {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func TestStderrIsCutAtItsBeginning(t *testing.T) {
	w := &tail{limit: 10}
	for _, s := range []string{"0123456789", "abc", strings.Repeat("x", 100), "end"} {
		if n, err := io.Copy(w, strings.NewReader(s)); n != int64(len(s)) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	if got := w.String(); got != "…xxxxxxxend" {
		t.Errorf("kept %q", got)
	}
}

func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadBounded(path, 100); err != nil || len(b) != 100 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := ReadBounded(path, 99); err == nil {
		t.Error("a file above the limit was read")
	}
}
