//go:build system

package fio

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/device/devicetest"
)

func TestAnOpenLoopDoesWhatFioWouldDo(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 128<<20)
	for name, c := range map[string]struct {
		config config
		share  float64 // of reads
	}{
		"random reads, direct":         {offering(300, "rw=randread", "size=16m", "runtime=2"), 1},
		"random mixture, direct":       {offering(300, "rw=randrw", "rwmixread=70", "size=16m", "runtime=2"), 0.7},
		"a log, synced, new each time": {offering(100, "rw=write", "size=1m", "runtime=2", "direct=0", "fdatasync=1"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, dir, c.config)
			env.Workload.Name = filepath.Base(t.Name())[:6]
			m := measureOnce(t, env)
			value := func(name string) float64 { return m.Metrics[name].Value }
			done, backlog, offered := value("read.ios")+value("write.ios"), value("read.backlog")+value("write.backlog"), value("read.rate.offered")+value("write.rate.offered")
			if want := float64(c.config.OfferedRate); math.Abs(offered-want) > 1e-6*want || math.Abs(done+backlog-2*want) > 0.5 {
				t.Errorf("%v of %v per second offered; %v done, a backlog of %v", offered, want, done, backlog)
			}
			if share := value("read.ios") / done; math.Abs(share-c.share) > 0.1 {
				t.Errorf("%v of the operations read", share)
			}
			for _, op := range m.Operations {
				if value(op+".latency.p99") <= 0 || m.Histograms[op].Count() != uint64(value(op+".ios")) {
					t.Errorf("%s: p99 is %v, and %d of %v are counted", op, value(op+".latency.p99"), m.Histograms[op].Count(), value(op+".ios"))
				}
			}
			if c.share == 0 && value("sync.ios") != value("write.ios") {
				t.Errorf("%v syncs of %v writes", value("sync.ios"), value("write.ios"))
			}
			if c.share > 0 && !m.DirectIO.Requested {
				t.Errorf("direct I/O: %+v", m.DirectIO)
			}
			if err := (Engine{}).Clean(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(directory(env)); err != nil || (c.share == 0) != (len(left) == 0) {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

func TestAnOpenLoopOnADevice(t *testing.T) {
	device := devicetest.Loop(t, 64<<20)
	m := measureOnce(t, newDeviceEnv(t, device, offering(400, "rw=randwrite", "bs=8k", "size=32m", "runtime=1")))
	if n := m.Metrics["write.ios"].Value + m.Metrics["write.backlog"].Value; n != 400 || m.Metrics["write.bytes"].Value != 8192*m.Metrics["write.ios"].Value {
		t.Errorf("%v operations, %v bytes", n, m.Metrics["write.bytes"].Value)
	}
}

func TestReadsBeyondTheEndOfAFileAreAnError(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	c := offering(100, "rw=randread", "size=16m", "runtime=1")
	c.Prefill = prefillNever
	env := newEnv(t, dir, c)
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if _, err := (Engine{}).Run(t.Context(), env); failure(t, err).Field == "" {
		t.Errorf("got %v", err)
	}
}

func TestACancelledOpenLoopEndsAtOnce(t *testing.T) {
	env := newEnv(t, t.TempDir(), offering(1, "rw=write", "size=1m", "runtime=600", "direct=0", "fsync=1"))
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := (Engine{}).Run(ctx, env); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 10*time.Second {
		t.Errorf("got %v after %s", err, time.Since(begin))
	}
}
