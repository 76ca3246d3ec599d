package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// A worker that is killed during a search goes on with the rates that it would have offered, which the
// engine gets in its configuration and the documents hold.
func TestAWorkerThatWasKilledGoesOnWithItsSearch(t *testing.T) {
	b := newBed(t)
	b.plan.Stop = &trial.Stop{Min: 1, Max: 1, HalfWidth: 0.05}
	b.plan.Workloads = b.plan.Workloads[:1]
	b.plan.Workloads[0].Knee = &trial.Knee{Metric: "read.latency.p99", Limit: 0.01, From: 50, To: 5000, Probes: 30}
	b.plan.Workloads[0].Config = json.RawMessage(`{"offeredRate":50}`)
	name := b.plan.Workloads[0].Name
	b.plan.Trials = nil
	for repeat := 1; repeat <= 30; repeat++ {
		b.plan.Trials = append(b.plan.Trials, trial.Trial{ID: fmt.Sprintf("%s.r%03d", name, repeat), Workload: name, Repeat: repeat})
	}
	b.engine.change = func(env workload.Env, m *result.Measurement) {
		var config struct{ OfferedRate int64 }
		if err := json.Unmarshal(env.Workload.Config, &config); err != nil || config.OfferedRate != env.Trial.Rate {
			t.Errorf("%s offers %d with the configuration %s", env.Trial.ID, env.Trial.Rate, env.Workload.Config)
		}
		latency := 0.001
		if config.OfferedRate > 800 {
			latency = 0.5
		}
		m.Metrics.Set("read.latency.p99", result.Seconds, latency)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	b.engine.run = func(context.Context, workload.Env) error {
		if n++; n > 5 {
			cancel()
		}
		return nil
	}
	if first := b.run(ctx); first.Failure == nil {
		t.Error("it was killed and has no failure")
	}
	b.engine.run = nil
	receipt := b.run(t.Context())
	s := b.summary()
	if receipt.Failure != nil || receipt.Stored < 8 || receipt.Stored > 14 || len(s.Stopped) != 1 || s.Stopped[0].Reason != result.StopKnee {
		t.Fatalf("%+v, stopped %+v", receipt, s.Stopped)
	}
	last := b.document(s.Trials[len(s.Trials)-1].ID).Trial.Rate
	if last < 760 || last > 840 || b.document(name+".r001").Trial.Rate != 50 {
		t.Errorf("it ended at %d per second", last)
	}
}
