package flushladder

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

func newEnv(t *testing.T, dir, config string) workload.Env {
	t.Helper()
	return workload.Env{
		Workload: trial.Workload{Name: "w", Engine: "flushLadder", Config: json.RawMessage(config)},
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

func TestEachStepIsCounted(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"8Mi","operations":20,"repeats":4}`)
	m := measureOnce(t, env)
	want := []string{"fdatasync", "fsync", "dsync", "fua", "flush", "nosync", "direct"}
	if slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, "refuses direct I/O") }) { // tmpfs of old kernels
		want = []string{"fdatasync", "fsync", "dsync", "flush", "nosync"}
	}
	if !slices.Equal(m.Operations, want) {
		t.Errorf("the operations are %v", m.Operations)
	}
	for _, op := range m.Operations {
		n := 20.0
		if op == "flush" {
			n = 4 * float64(len(amounts(8<<20)))
		} else if m.Metrics[op+".rate"].Value <= 0 {
			t.Errorf("%s has no rate", op)
		}
		if m.Metrics[op+".count"].Value != n || m.Histograms[op].Count() != uint64(n) || m.Metrics[op+".latency.p99"].Value <= 0 {
			t.Errorf("%s was counted %v times, %d in its histogram, p99 %v", op, m.Metrics[op+".count"].Value, m.Histograms[op].Count(), m.Metrics[op+".latency.p99"].Value)
		}
	}
	if got := m.Metrics["ladder.syncs"].Value; got != 20+20+m.Metrics["flush.count"].Value {
		t.Errorf("%v syncs", got)
	}
	if growth := m.Metrics["ladder.growth"].Value; growth < m.Metrics["ladder.most"].Value/m.Metrics["ladder.least"].Value {
		t.Errorf("the growth is %v", growth)
	}
	if info, err := os.Stat(filepath.Join(env.Dir, "flushladder-w")); err != nil || info.Size() != 8<<20 {
		t.Errorf("the file is %v, %v", info, err)
	}
}

func TestTheFileIsWrittenOnceForAllTrials(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"8Mi","operations":10,"repeats":4}`)
	measureOnce(t, env)
	file := filepath.Join(env.Dir, "flushladder-w")
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(file); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the file was written again: %v", err)
	}
}

func TestAmountsGoFromABlockToAllOfTheFile(t *testing.T) {
	const mib = 1 << 20
	for size, want := range map[int64][]int64{
		8 * mib:   {block, mib, 4 * mib, 8 * mib},
		256 * mib: {block, mib, 16 * mib, 64 * mib, 256 * mib},
		5 << 30:   {block, mib, 1024 * mib, 4096 * mib, 5 << 30},
	} {
		if got := amounts(size); !slices.Equal(got, want) {
			t.Errorf("of %d: %v", size, got)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	for config, field := range map[string]string{
		`{"size":"7Mi"}`:        "flushLadder.size",
		`{"size":"65Gi"}`:       "flushLadder.size",
		`{"size":"9000000"}`:    "flushLadder.size",
		`{"operations":9}`:      "flushLadder.operations",
		`{"operations":100001}`: "flushLadder.operations",
		`{"repeats":3}`:         "flushLadder.repeats",
		`{"repeats":51}`:        "flushLadder.repeats",
		`{"somethingElse":1}`:   "flushLadder",
	} {
		var f *trial.Failure
		if err := (Engine{}).Check(json.RawMessage(config), trial.Filesystem); !errors.As(err, &f) || !strings.HasPrefix(f.Field, field) || f.Remedy == "" {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func TestAPlanSaysWhatIsWritten(t *testing.T) {
	out, err := Engine{}.Outline("w", json.RawMessage(`{"operations":10,"repeats":4}`), workload.Place{Mode: trial.Filesystem, Room: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	const mib = 1 << 20
	if out.Needs != 256*mib || out.Prepares != out.Needs || out.Writes != 6*10*block+4*(block+mib+16*mib+64*mib+256*mib) || out.Size == nil {
		t.Errorf("%+v", out)
	}
	if out, err = (Engine{}).Outline("w", json.RawMessage(`{}`), workload.Place{Mode: trial.Block, Room: 100 * mib}); err != nil || out.Needs != 80*mib {
		t.Errorf("on a small device: %+v, %v", out, err)
	}
}

func TestACancelledTrialEnds(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"8Mi","operations":100000,"repeats":50}`)
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Engine{}).Run(ctx, env); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTheOrderOfTwoAmounts(t *testing.T) {
	for _, c := range []struct {
		most, least []float64
		want        float64
	}{
		{[]float64{4, 5, 6}, []float64{1, 2, 3}, 1}, {[]float64{1, 2}, []float64{1, 2}, 0.5}, {[]float64{1}, []float64{2}, 0},
	} {
		if got := above(c.most, c.least); got != c.want {
			t.Errorf("%v above %v: %v", c.most, c.least, got)
		}
	}
}
