//go:build system

package fio

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/fio/seccomptest"
)

func TestMain(m *testing.M) {
	// A test that needs a process without io_uring starts itself again.
	if os.Getenv(denyIOURing) != "" {
		if err := seccomptest.DenyIOURing(); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

const denyIOURing = "STORAGEBENCH_TEST_DENY_IO_URING"

func newEnv(t *testing.T, dir string, c config) workload.Env {
	t.Helper()
	if c.Prefill == "" {
		c.Prefill = prefillAuto
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return workload.Env{
		Workload: trial.Workload{Name: "w", Engine: "fio", Config: raw},
		Target:   trial.Target{Name: "fast", Source: trial.StorageClass, Mode: trial.Filesystem},
		Dir:      dir, Scratch: t.TempDir(), State: t.TempDir(),
		Trial: trial.Trial{ID: "w.r001", Workload: "w", Repeat: 1},
		Log:   slog.New(slog.DiscardHandler),
	}
}

func newDeviceEnv(t *testing.T, device string, c config) workload.Env {
	t.Helper()
	env := newEnv(t, "", c)
	env.Device, env.Target.Mode = device, trial.Block
	return env
}

func measureOnce(t *testing.T, env workload.Env) *result.Measurement {
	t.Helper()
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	m, err := Engine{}.Run(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func checkWritten(t *testing.T, path string, size int64) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
		return time.Time{}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	compressed := encoder.EncodeAll(content, nil)
	if info.Size() != size || len(compressed) < len(content)*99/100 || bytes.Contains(content, make([]byte, 4096)) {
		t.Errorf("%s has %d bytes, want %d; compressed they are %d", path, info.Size(), size, len(compressed))
	}
	return info.ModTime()
}

func fiosIn(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && at == dir {
			pids = append(pids, strings.Split(link, "/")[2])
		}
	}
	return pids
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func writeAt(t *testing.T, device string, content []byte) {
	t.Helper()
	f, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(content)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
