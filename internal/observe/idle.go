package observe

import (
	"math"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// Idle ends the sampler and returns what happened on average while it ran: what all its disks
// moved, and what the machine's CPUs did.
func (s *Sampler) Idle() result.Metrics {
	t := s.Table(nil)
	m := result.Metrics{}
	seconds := s.at(s.taken - 1).Sub(s.begin).Seconds()
	m.Set("seconds", result.Seconds, seconds)
	if seconds <= 0 {
		return m
	}
	total := func(scope samples.Scope, c samples.Column, weigh bool) (sum float64, known bool) {
		for i := range t.At {
			if scope == samples.Disk && t.Scope[i] == scope && math.IsNaN(t.Values[samples.ReadBytes][i]) {
				return 0, false // a disk was not counted meanwhile
			}
			if v := t.Values[c][i]; t.Scope[i] == scope && !math.IsNaN(v) {
				if weigh {
					v *= t.Values[samples.Seconds][i]
				}
				sum, known = sum+v, true
			}
		}
		return sum / seconds, known
	}
	for _, r := range []struct {
		name, unit string
		scope      samples.Scope
		column     samples.Column
		weigh      bool
	}{
		{"disk.read.bytes", result.BytesPerSecond, samples.Disk, samples.ReadBytes, false},
		{"disk.write.bytes", result.BytesPerSecond, samples.Disk, samples.WriteBytes, false},
		{"disk.flush.count", result.PerSecond, samples.Disk, samples.FlushCount, false},
		{"cpu.idle", result.Ratio, samples.Machine, samples.CPUIdle, true},
		{"cpu.iowait", result.Ratio, samples.Machine, samples.CPUIOWait, true},
		{"cpu.steal", result.Ratio, samples.Machine, samples.CPUSteal, true},
		{"pressure.io", result.Ratio, samples.Machine, samples.PressureIO, true},
	} {
		if v, ok := total(r.scope, r.column, r.weigh); ok {
			m.Set(r.name, r.unit, v)
		}
	}
	return m
}
