package bandwidth

import (
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload/tool"
)

// sum is the measurement of a trial, operation by operation.
type sum struct {
	*result.Measurement
	elapsed, user, system time.Duration
	schedule              tool.Schedule
}

// add puts the metrics of an operation.
func (s *sum) add(operation string, d moved) {
	h := d.latencies.Histogram()
	s.Operations = append(s.Operations, operation)
	s.Metrics.Set(operation+".bandwidth", result.BytesPerSecond, d.rate(0))
	s.Metrics.Set(operation+".bytes", result.Bytes, float64(d.bytes))
	s.Metrics.SetLatency(operation, d.latencies.Mean(), float64(d.latencies.Max()), h)
	s.Histograms[operation] = h
	for _, p := range d.Paces {
		s.AddRate(operation, p.End, p.Length, p.Count, p.Bytes)
	}
	s.schedule.Add(d.Schedule)
	s.elapsed += d.Elapsed
	s.user += d.User
	s.system += d.System
	s.EngineCPU += d.User + d.System + d.aside
}

// finish returns the measurement, or nil if nothing was measured.
func (s *sum) finish() *result.Measurement {
	if s.elapsed <= 0 {
		return nil
	}
	s.Metrics.Set("cpu.user", result.Ratio, s.user.Seconds()/s.elapsed.Seconds())
	s.Metrics.Set("cpu.system", result.Ratio, s.system.Seconds()/s.elapsed.Seconds())
	s.Metrics.SetSchedule(s.schedule.Ran, s.schedule.Waited, s.schedule.Slices)
	return s.Measurement
}
