package bandwidth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

func newEnv(t *testing.T, dir, config string) workload.Env {
	t.Helper()
	return workload.Env{
		Workload: trial.Workload{Name: "w", Engine: "bandwidth", Config: json.RawMessage(config)},
		Target:   trial.Target{Name: "fast", Source: trial.StorageClass, Mode: trial.Filesystem},
		Dir:      dir, Scratch: t.TempDir(), State: t.TempDir(),
		Trial: trial.Trial{ID: "w.r001", Workload: "w", Repeat: 1},
		Log:   slog.New(slog.DiscardHandler),
	}
}

func prepare(t *testing.T, env workload.Env) {
	t.Helper()
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
}

func measureOnce(t *testing.T, env workload.Env) *result.Measurement {
	t.Helper()
	prepare(t, env)
	m, err := Engine{}.Run(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestATrialMovesEveryBlockOnce(t *testing.T) {
	for config, operations := range map[string]string{
		`{"size":"4Mi","blockSize":"64Ki"}`:                                                     "write write.durable read",
		`{"size":"4Mi","blockSize":"64Ki","direct":false,"depth":3}`:                            "write write.durable read",
		`{"size":"4Mi","blockSize":"64Ki","direct":false,"operations":["Write"]}`:               "write write.durable",
		`{"size":"4Mi","blockSize":"64Ki","direct":false,"operations":["Read"],"depth":8}`:      "read",
		`{"size":"4Mi","blockSize":"64Ki","direct":false,"operations":["Read","Write"]}`:        "read write write.durable",
		`{"size":4194304,"blockSize":65536,"operations":["Write","Read"],"depth":64}`:           "write write.durable read",
		`{"size":"4096000","blockSize":"64000","operations":["Write"],"direct":true,"depth":1}`: "write write.durable",
	} {
		t.Run(config, func(t *testing.T) {
			m := measureOnce(t, newEnv(t, t.TempDir(), config))
			if got := strings.Join(m.Operations, " "); got != operations {
				t.Errorf("the operations are %s", got)
			}
			for _, op := range m.Operations {
				if v := m.Metrics[op+".bandwidth"]; v.Unit != result.BytesPerSecond || v.Value <= 0 {
					t.Errorf("%s.bandwidth is %+v", op, v)
				}
				if op == "write.durable" {
					continue
				}
				// 64 blocks in each of the configurations.
				if n := m.Histograms[op].Count(); n != 64 || m.Metrics[op+".bytes"].Value < 4096000 || m.Metrics[op+".latency.mean"].Value <= 0 {
					t.Errorf("%s: %d blocks, %v bytes", op, n, m.Metrics[op+".bytes"].Value)
				}
			}
		})
	}
}

// The kernel counts a thread's CPU time when it is interrupted, every few milliseconds:
// a trial that is over before that has used none.
func TestATrialTellsTheCPUThatItTook(t *testing.T) {
	m := measureOnce(t, newEnv(t, t.TempDir(), `{"size":"256Mi","blockSize":"64Ki","direct":false,"operations":["Write"]}`))
	user, system := m.Metrics["cpu.user"], m.Metrics["cpu.system"]
	if cpu := user.Value + system.Value; user.Unit != result.Ratio || system.Unit != result.Ratio || cpu <= 0 || m.EngineCPU <= 0 {
		t.Errorf("%v cores, %v", cpu, m.EngineCPU)
	}
}

func TestTheDurableRateIsThatOfTheWriteAndItsDrain(t *testing.T) {
	m := measureOnce(t, newEnv(t, t.TempDir(), `{"size":"16Mi","direct":false,"operations":["Write"]}`))
	taken, durable := m.Metrics["write.bandwidth"].Value, m.Metrics["write.durable.bandwidth"].Value
	seconds := 16<<20/taken + m.Metrics["drain.duration"].Value
	if want := 16 << 20 / seconds; durable < want*0.999 || durable > want*1.001 || durable >= taken {
		t.Errorf("taken at %v, durable at %v, want %v", taken, durable, want)
	}
	if m.DirectIO.Effective != result.Buffered || m.DirectIO.Requested {
		t.Errorf("direct I/O is %+v", m.DirectIO)
	}
}

func TestWhatIsReadIsWrittenOnceAndCannotBeCompressed(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"3Mi","blockSize":"96Ki","operations":["Read"],"depth":2,"direct":false}`)
	measureOnce(t, env)
	file := filepath.Join(env.Dir, "bandwidth-w")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithWindowSize(256<<10)) // as far as storage looks back
	if err != nil {
		t.Fatal(err)
	}
	if n := len(encoder.EncodeAll(content, nil)); len(content) != 3<<20 || n < len(content)*98/100 {
		t.Errorf("%d bytes, compressed %d", len(content), n)
	}
	blocks := map[string]bool{}
	for at := 0; at < len(content); at += 512 {
		blocks[string(content[at:at+512])] = true
	}
	if len(blocks) != len(content)/512 {
		t.Errorf("%d of %d blocks are different", len(blocks), len(content)/512)
	}
	measureOnce(t, env)
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, content) {
		t.Errorf("the next attempt has written it again, %v", err)
	}
	// As if the attempt had been killed while it wrote.
	if err := os.Truncate(file, 1000); err != nil {
		t.Fatal(err)
	}
	if err := env.SaveNote("bandwidth-written-w", 0); err != nil {
		t.Fatal(err)
	}
	measureOnce(t, env)
}

func TestDataThatIsGoneFails(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"3Mi","operations":["Read"],"direct":false}`)
	prepare(t, env)
	if err := os.Truncate(filepath.Join(env.Dir, "bandwidth-w"), 1<<20+1); err != nil {
		t.Fatal(err)
	}
	m, err := Engine{}.Run(t.Context(), env)
	f := trial.AsFailure(err)
	if f.Class != reason.WorkloadFailed || f.Field != "spec.workloads[w].bandwidth" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %+v", err)
	}
	if m == nil || m.Metrics["read.bytes"].Value != 1<<20 {
		t.Error("what was measured is not kept")
	}
}

func TestATrialThatWritesFirstLeavesNoData(t *testing.T) {
	for _, config := range []string{`{"size":"1Mi","direct":false}`, `{"direct":false}`} {
		env := newEnv(t, t.TempDir(), config)
		ctx, cancel := context.WithCancel(t.Context())
		prepare(t, env)
		if config == `{"direct":false}` {
			cancel() // 1 GiB is too much for here
		}
		if _, err := (Engine{}).Run(ctx, env); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		cancel()
		if files, err := filepath.Glob(env.Dir + "/bandwidth*"); err != nil || len(files) > 0 {
			t.Errorf("%v are left, %v", files, err)
		}
	}
}

func TestACancelledTrialEndsAtOnce(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"8Gi","blockSize":"512","direct":false,"depth":2,"operations":["Write"]}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := (Engine{}).Run(ctx, env); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestAPreparationThatIsCancelledIsDoneAgain(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"2Mi","operations":["Read"],"direct":false}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Engine{}).Prepare(ctx, env); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if m := measureOnce(t, env); m.Metrics["read.bytes"].Value != 2<<20 {
		t.Errorf("%+v", m.Metrics)
	}
}

func TestWhatIsNotPossibleIsRefused(t *testing.T) {
	for config, field := range map[string]string{
		`{"operations":[]}`:                              "bandwidth.operations",
		`{"operations":["Write","Write"]}`:               "bandwidth.operations",
		`{"operations":["Trim"]}`:                        "bandwidth.operations",
		`{"blockSize":"511","direct":false}`:             "bandwidth.blockSize",
		`{"blockSize":"65Mi"}`:                           "bandwidth.blockSize",
		`{"blockSize":"1000"}`:                           "bandwidth.blockSize",
		`{"depth":0}`:                                    "bandwidth.depth",
		`{"depth":257}`:                                  "bandwidth.depth",
		`{"depth":5,"blockSize":"64Mi"}`:                 "bandwidth.depth",
		`{"depth":3,"size":"2Mi"}`:                       "bandwidth.depth",
		`{"size":"0"}`:                                   "bandwidth.size",
		`{"size":"1500Ki"}`:                              "bandwidth.size",
		`{"size":"100"}`:                                 "bandwidth.size",
		`{"size":"8Ei"}`:                                 "bandwidth.size",
		`{"bs":"4Ki"}`:                                   "bandwidth.bs",
		`{}`:                                             "",
		`{"blockSize":"1000","direct":false}`:            "",
		`{"size":"1500Ki","blockSize":"500Ki"}`:          "",
		`{"depth":256,"blockSize":"1Mi","size":"256Mi"}`: "",
	} {
		for _, mode := range []trial.Mode{trial.Filesystem, trial.Block} {
			err := Engine{}.Check(json.RawMessage(config), mode)
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
	}
	env := newEnv(t, t.TempDir(), `{"depth":0}`)
	if err := (Engine{}).Prepare(t.Context(), env); trial.AsFailure(err).Field != "spec.workloads[w].bandwidth.depth" {
		t.Errorf("got %v", err)
	}
}

func TestTheEstimateIsTheSizeIfItIsGiven(t *testing.T) {
	for config, want := range map[string]uint64{`{"size":"2Gi"}`: 2 << 30, `{}`: 0} {
		if e, err := (Engine{}).Estimate(json.RawMessage(config)); err != nil || e.Bytes != want || e.Duration != 0 {
			t.Errorf("%s: %+v, %v", config, e, err)
		}
	}
}
