//go:build system

package iozone

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
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

// withFio is the engine where there is no iozone, also on a machine that has one.
var withFio = Engine{Iozone: "/nonexistent/iozone"}

func TestFioMeasuresTheWholeMatrix(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 128<<20)
	env := newEnv(t, dir, `{"fileSizes":["64Ki","16Mi","32Mi"],"recordSizes":["4Ki","1Mi"]}`)
	if err := withFio.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	m, err := withFio.Run(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	for _, operation := range operations[:6] {
		for _, cell := range []string{".16MiB.4KiB", ".16MiB.1MiB", ".32MiB.4KiB", ".32MiB.1MiB"} {
			if got := m.Metrics[operation+cell+".bandwidth"]; got.Value < 1<<20 || got.Value > 1<<40 || got.Unit != result.BytesPerSecond {
				t.Errorf("%s%s is %v", operation, cell, got)
			}
		}
		if m.Metrics[operation+".bandwidth"] != m.Metrics[operation+".32MiB.1MiB.bandwidth"] {
			t.Errorf("%s is not that of the largest file with the largest record", operation)
		}
		if _, ok := m.Metrics[operation+".64KiB.1MiB.bandwidth"]; ok {
			t.Errorf("%s: a record larger than its file was measured", operation)
		}
	}
	if !slices.Equal(m.Operations, operations[:6]) || m.DirectIO.Effective != result.Buffered {
		t.Errorf("operations %v, %+v", m.Operations, m.DirectIO)
	}
	if strings.Count(m.Input, "[global]") != 5 || strings.Count(string(m.RawOutput), `"fio version"`) != 5 || len(m.Command) == 0 {
		t.Errorf("the input is\n%s", m.Input)
	}
	for _, want := range []string{"measured by fio 3.", "because iozone is not installed", "dropped from this node's page cache", "may be served from memory"} {
		if !slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("no note says %q: %q", want, m.Notes)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "iozone-*")); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}

func TestOnlyWhatWasAskedForIsReported(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"fileSizes":["32Mi"],"recordSizes":["64Ki"],"tests":["Reread"],"tool":"Fio","includeFlush":false}`)
	m, err := withFio.Run(t.Context(), env)
	if err != nil || len(m.Metrics) != 3 || m.Metrics["reread.32MiB.64KiB.bandwidth"].Value <= 0 || !slices.Equal(m.Operations, []string{"reread"}) {
		t.Fatalf("%+v, %v", m, err)
	}
	if slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, "not installed") }) || !slices.Contains(m.Notes, noFlush) {
		t.Errorf("notes %q", m.Notes)
	}
}

func TestDirectIOIsInEffectOrRefused(t *testing.T) {
	dir, disk := devicetest.Filesystem(t, "ext4", 64<<20)
	devicetest.DirectIO(t, disk)
	const config = `{"fileSizes":["16Mi"],"recordSizes":["1Mi"],"tests":["Write","RandomRead"],"direct":true,"tool":"Fio"}`
	m, err := withFio.Run(t.Context(), newEnv(t, dir, config))
	if err != nil || m.DirectIO.Effective != result.Direct || m.Metrics["random.read.bandwidth"].Value <= 0 {
		t.Errorf("%+v, %v", m, err)
	}

	ramfs := t.TempDir()
	devicetest.Mount(t, ramfs, "ramfs", "ramfs") // which has no O_DIRECT
	_, err = withFio.Run(t.Context(), newEnv(t, ramfs, config))
	wantFailure(t, "ramfs", err, trial.Failure{Class: reason.EngineRefused, Field: "spec.workloads[w].iozone.direct", Message: "the target refuses direct I/O"})
}

func TestATargetThatIsTooSmallOrFillsUp(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	err := withFio.Prepare(t.Context(), newEnv(t, dir, `{}`))
	wantFailure(t, "small", err, trial.Failure{Class: reason.TargetTooSmall, Field: "spec.targets[fast].storageClass.size", Message: "needs 512 MiB"})

	env := newEnv(t, dir, `{"fileSizes":["1Mi","32Mi"],"recordSizes":["1Mi"]}`)
	if err := withFio.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	// Somebody else writes meanwhile.
	if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := withFio.Run(t.Context(), env)
	wantFailure(t, "full", err, trial.Failure{Class: reason.NoSpace, Field: "spec.targets[fast].storageClass.size", Message: "write of a file of 32MiB with records of 1MiB"})
	if !errors.Is(err, syscall.ENOSPC) || m == nil || len(m.RawOutput) == 0 {
		t.Errorf("%v, %+v", err, m)
	}

	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err = withFio.Run(t.Context(), env)
	wantFailure(t, "read-only", err, trial.Failure{Class: reason.TargetUnusable, Field: "spec.targets[fast].storageClass.size", Message: "the target is read-only"})
}

func TestACancelledMatrixLeavesNothing(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"fileSizes":["8Gi"],"recordSizes":["1Ki"],"tool":"Fio"}`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := withFio.Run(ctx, env)
		ended <- err
	}()
	file := filepath.Join(env.Dir, "iozone-w", fileName)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		}
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
}
