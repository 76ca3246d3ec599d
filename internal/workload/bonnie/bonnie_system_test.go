//go:build system

package bonnie

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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

func TestATrialMeasuresAndLeavesNothingBehind(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"16Mi","chunkSize":"64Ki","files":1}`)
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	m, err := Engine{}.Run(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	// Single characters take a second and more wherever they are written.
	if got := m.Metrics["write.char.bandwidth"]; got.Value < 1<<10 || got.Unit != result.BytesPerSecond || !slices.Contains(m.Operations, "write.char") {
		t.Errorf("%v, operations %v", got, m.Operations)
	}
	for _, operation := range order {
		if got := m.Metrics[operation+".latency.max"].Value; got <= 0 || got > 60 {
			t.Errorf("%s: the longest latency is %v s", operation, got)
		}
	}
	if m.Metrics["write.char.cpu"].Value <= 0 || len(m.RawOutput) == 0 || !slices.Contains(m.Command, "16:65536") {
		t.Errorf("%+v", m)
	}
	if len(m.Notes) == 0 || !strings.Contains(m.Notes[len(m.Notes)-1], "may be served from memory") {
		t.Errorf("notes %q", m.Notes)
	}
	if entries, err := os.ReadDir(env.Dir); err != nil || len(entries) != 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
	if tools := (Engine{}).Tools(t.Context()); !strings.HasPrefix(tools["bonnie++"], "2.00") {
		t.Errorf("its version is %v", tools)
	}
}

const asNobody = "STORAGEBENCH_TEST_AS_NOBODY"

// A Pod runs as a user without a name.
func TestATrialNeedsNoRoot(t *testing.T) {
	if dir := os.Getenv(asNobody); dir != "" {
		env := newEnv(t, dir, `{"size":"16Mi","files":0}`)
		m, err := Engine{}.Run(t.Context(), env)
		if err != nil || m.Metrics["write.char.bandwidth"].Value <= 0 || !slices.Contains(m.Command, "65532:65532") {
			t.Errorf("%+v, %v", m, err)
		}
		return
	}
	root := t.TempDir()
	program, dir := filepath.Join(root, "bonnie.test"), filepath.Join(root, "target")
	if err := errors.Join(copyFile(os.Args[0], program), os.Mkdir(dir, 0o700), os.Chown(dir, 65532, 65532), os.Chmod(root, 0o755), os.Chmod(filepath.Dir(root), 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asNobody+"="+dir, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func TestAVolumeThatFillsUpIsNoSpace(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	env := newEnv(t, dir, `{"size":"32Mi","files":0,"perCharacter":false}`)
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	// Somebody else writes meanwhile.
	if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Engine{}.Run(t.Context(), env)
	wantFailure(t, "full", err, trial.Failure{Class: reason.NoSpace, Field: "spec.targets[fast].storageClass.size", Message: "Can't write block"})
	if !errors.Is(err, syscall.ENOSPC) || m == nil || !strings.Contains(m.Stderr, "No space left") {
		t.Errorf("%v, %+v", err, m)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "bonnie-*")); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}

func TestATargetThatCannotHoldItIsRefused(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	wantFailure(t, "too small", Engine{}.Prepare(t.Context(), newEnv(t, dir, `{"size":"1Gi"}`)),
		trial.Failure{Class: reason.TargetTooSmall, Field: "spec.targets[fast].storageClass.size", Message: "needs 1 GiB"})
	wantFailure(t, "too few inodes", Engine{}.Prepare(t.Context(), newEnv(t, dir, `{"size":"16Mi","files":60}`)),
		trial.Failure{Class: reason.TargetTooSmall, Field: "spec.workloads[w].bonnie.files", Message: "the test creates 61440 files"})

	env := newEnv(t, dir, `{"files":0,"perCharacter":false}`)
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	var n sizeNote
	if ok, err := env.LoadNote("bonnie-size-w", &n); !ok || err != nil || n.Size < 30<<20 || n.Size > 51<<20 || n.Size%(1<<20) != 0 {
		t.Errorf("of a target of 64 MiB it takes %d, %t, %v", n.Size, ok, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, "the second attempt", Engine{}.Prepare(t.Context(), env),
		trial.Failure{Class: reason.TargetTooSmall, Field: "spec.targets[fast].storageClass.size", Message: "needs " + strconv.FormatUint(n.Size>>20, 10) + " MiB"})
}

func TestAReadOnlyTargetIsNamed(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	env := newEnv(t, dir, `{"size":"16Mi","files":0}`)
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err := Engine{}.Run(t.Context(), env)
	wantFailure(t, "read-only", err, trial.Failure{Class: reason.TargetUnusable, Field: "spec.targets[fast].storageClass.size", Message: "the target is read-only"})
	// bonnie++ itself does not say why it cannot open a file.
	if errno := causeOf(env, "Can't open file ./Bonnie.1\n", 0); errno != syscall.EROFS {
		t.Errorf("the reason is %v", errno)
	}
}

func TestACancelledTrialLeavesNoBonnie(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"4Gi","files":0,"chunkSize":"256","perCharacter":false}`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Engine{}.Run(ctx, env)
		ended <- err
	}()
	deadline := time.Now().Add(30 * time.Second)
	for !writing(env.Dir) && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(tool.StopWait + 10*time.Second):
		t.Fatal("it does not end")
	}
	if entries, err := os.ReadDir(env.Dir); err != nil || len(entries) != 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, env.Dir) {
			t.Errorf("a process is left: %s", link)
		}
	}
}

func writing(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "bonnie-w", "Bonnie.*"))
	return len(files) > 0
}
