package filesync

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

func newEnv(t *testing.T, dir, config string) workload.Env {
	t.Helper()
	return workload.Env{
		Workload: trial.Workload{Name: "w", Engine: "filesync", Config: json.RawMessage(config)},
		Target:   trial.Target{Name: "fast", Source: trial.StorageClass, Mode: trial.Filesystem},
		Dir:      dir, Scratch: t.TempDir(), State: t.TempDir(),
		Trial: trial.Trial{ID: "w.r001", Workload: "w", Repeat: 1},
		Log:   slog.New(slog.DiscardHandler),
	}
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

func checkEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestEveryFileIsCountedInEveryStep(t *testing.T) {
	for sync, steps := range map[string]string{
		"Dsync": "filesync open write close unlink", "Sync": "filesync open write close unlink",
		"Fsync": "filesync open write sync close unlink", "Fdatasync": "filesync open write sync close unlink",
		"None": "filesync open write close unlink",
	} {
		t.Run(sync, func(t *testing.T) {
			env := newEnv(t, t.TempDir(), `{"files":50,"size":"5000","threads":3,"sync":"`+sync+`"}`)
			m := measureOnce(t, env)
			if got := strings.Join(m.Operations, " "); got != steps {
				t.Errorf("the operations are %s", got)
			}
			if slices.Sort(m.Operations); !slices.Equal(m.Operations, slices.Sorted(maps.Keys(m.Histograms))) {
				t.Errorf("%v have histograms", slices.Sorted(maps.Keys(m.Histograms)))
			}
			if synced := m.Metrics[result.FilesSynced].Value; (synced == 50) != (sync != "None") || synced != 0 && synced != 50 {
				t.Errorf("%g of 50 files were synced", synced)
			}
			var parts float64
			for name, h := range m.Histograms {
				if h.Count() != 50 {
					t.Errorf("%s is counted %d times", name, h.Count())
				}
				if name != "filesync" {
					parts += m.Metrics[name+".latency.mean"].Value
				}
			}
			if whole := m.Metrics["filesync.latency.mean"].Value; whole <= 0 || parts < whole*0.999 || parts > whole*1.001 {
				t.Errorf("the steps take %v and the whole %v", parts, whole)
			}
			checkEmpty(t, env.Dir)
		})
	}
}

func TestTheRateIsThatOfTheClockOnTheWall(t *testing.T) {
	begin := time.Now()
	m := measureOnce(t, newEnv(t, t.TempDir(), `{"files":2000,"sync":"None"}`))
	wall := time.Since(begin).Seconds()
	metric := func(name, unit string) float64 {
		if m.Metrics[name].Unit != unit {
			t.Errorf("%s is %+v", name, m.Metrics[name])
		}
		return m.Metrics[name].Value
	}
	if n := metric("filesync.count", result.Count); n != 2000 {
		t.Errorf("%v files", n)
	}
	// One thread does nothing but its files.
	seconds := 2000 / metric("filesync.rate", result.PerSecond)
	if busy := 2000 * metric("filesync.latency.mean", result.Seconds); seconds > wall || busy > seconds || busy < seconds/2 {
		t.Errorf("%v s by the rate, %v s by the latencies, %v s on the wall", seconds, busy, wall)
	}
	if cpu := metric("cpu.user", result.Ratio) + metric("cpu.system", result.Ratio); cpu <= 0 || cpu > 1.1 || m.EngineCPU <= 0 {
		t.Errorf("%v cores, %v", cpu, m.EngineCPU)
	}
	if metric("drain.duration", result.Seconds) <= 0 {
		t.Error("the drain took no time")
	}
}

func TestACancelledTrialEndsAtOnceAndLeavesNothing(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"files":1000000000,"threads":2}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := (Engine{}).Run(ctx, env); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	checkEmpty(t, env.Dir)
}

func TestWhatAKilledAttemptLeftIsRemoved(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"files":1}`)
	left := filepath.Join(env.Dir, "filesync-w.0")
	if err := os.WriteFile(left, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, env.Dir)
}

func TestWhatIsNotPossibleIsRefused(t *testing.T) {
	for config, field := range map[string]string{
		`{"files":0}`:                 "filesync.files",
		`{"files":1000000001}`:        "filesync.files",
		`{"size":"0"}`:                "filesync.size",
		`{"size":"65Mi"}`:             "filesync.size",
		`{"size":"much"}`:             "filesync",
		`{"sync":"Sometimes"}`:        "filesync.sync",
		`{"threads":0}`:               "filesync.threads",
		`{"threads":257}`:             "filesync.threads",
		`{"threads":4,"files":3}`:     "filesync.threads",
		`{"threads":5,"size":"64Mi"}`: "filesync.threads",
		`{"fsync":true}`:              "filesync.fsync",
		`{}`:                          "",
		`{"threads":4,"size":"64Mi","sync":"Fsync"}`: "",
	} {
		err := Engine{}.Check(json.RawMessage(config), trial.Filesystem)
		if field == "" {
			if err != nil {
				t.Errorf("%s: %v", config, err)
			}
			continue
		}
		class := trial.Class(reason.InvalidSpec)
		if strings.Contains(config, "64Mi") && strings.Contains(config, ":5,") {
			class = reason.LimitExceeded // five blocks of 64 MiB
		}
		f, ok := errors.AsType[*trial.Failure](err)
		if !ok || f.Class != class || f.Field != field || f.Remedy == "" {
			t.Errorf("%s: %+v", config, err)
		}
	}
	if err := (Engine{}).Check(json.RawMessage(`{}`), trial.Block); trial.AsFailure(err).Field != "filesync" {
		t.Errorf("a device: %v", err)
	}
	env := newEnv(t, t.TempDir(), `{"files":0}`)
	if err := (Engine{}).Prepare(t.Context(), env); trial.AsFailure(err).Field != "spec.workloads[w].filesync.files" {
		t.Errorf("got %v", err)
	}
}

func TestTheEstimateIsTheRoomOfTheFilesThatAreThereAtOnce(t *testing.T) {
	e, err := Engine{}.Estimate(json.RawMessage(`{"size":"5000","threads":3}`))
	if err != nil || e.Bytes != 3*8192 || e.Duration != 0 {
		t.Errorf("got %+v, %v", e, err)
	}
}
