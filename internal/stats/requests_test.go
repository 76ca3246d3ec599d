package stats

import (
	"testing"
	"time"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
)

func TestPercentilesOfDisksArePooled(t *testing.T) {
	p, _ := wide(1, 1)
	s := result.NewWorkerSummary(p, p.Workers[0])
	wait, latency := &histogram.Histogram{}, &histogram.Histogram{}
	wait.Add(64, 1)
	latency.Add(100, 1)
	s.Fold(&result.Trial{Trial: p.Trials[0], Outcome: result.Measured, Measurement: result.Measurement{
		Metrics: result.Metrics{
			"device.read.latency.p99": {Unit: result.Seconds, Value: 1}, "device.read.wait.p99": {Unit: result.Seconds, Value: 1},
			"device.queue.wait.p99": {Unit: result.Seconds, Value: 1}, "device.queue.depth": {Unit: result.Count, Value: 1},
		},
		Devices: []result.DeviceRequests{{Name: "sda", Operations: map[string]result.Requests{"read": {Wait: wait, Latency: latency}}}},
	}}, result.Object{})
	row := Summarize(p, []result.WorkerSummary{*s}, time.Unix(1, 0)).Rows[0]
	for name, want := range map[string]float64{"device.read.latency.p99": 100e-9, "device.read.wait.p99": 64e-9, "device.queue.wait.p99": 64e-9} {
		if got := row.Metrics[name].Pooled; got == nil || *got != want {
			t.Errorf("%s is pooled to %v, want %v", name, got, want)
		}
	}
	if row.Metrics["device.queue.depth"].Pooled != nil {
		t.Error("a depth is pooled")
	}
}

// A run of very many workers has no room for everything that some of them observe.
func TestWhatGivesWayInARunOfManyWorkers(t *testing.T) {
	for name, want := range map[string]bool{
		"read.iops": false, "read.latency.p95": false, "device.read.await": false, "device.read.latency.p99": false, "device.queue.wait.p99": false,
		"device.foreign.share": false, "device.seek.random": false, "device.request.size.p50": false,
		"device.read.latency.p50": true, "device.fua.wait.mean": true, "device.queue.wait.max": true, "device.request.size.mean": true, "device.seek.distance.p50": true,
	} {
		if got := small("", name); got != want {
			t.Errorf("%s of the whole: %v", name, got)
		}
	}
	if !small("a", "read.latency.p95") || small("a", "read.iops") {
		t.Error("of a part, tables show rates and not p95")
	}
}
