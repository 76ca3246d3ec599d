package result

// FlushesMetric is how many flushes of the disks a durable operation took.
const FlushesMetric = "flushes.per.operation"

// SetFlushes sets the metric, if flushes were counted in a part of the trial that has a share of what the workload did,
// and something was made durable. Copies are how many disks get the same flush, as those of a mirror do, which counts once.
func (m *Measurement) SetFlushes(copies int, part Metrics, share float64) {
	flushes, ok := part["device.flush.count"]
	if n := m.durable() * share; ok && n > 0 {
		m.Metrics.Set(FlushesMetric, Ratio, flushes.Value/float64(max(1, copies))/n)
	}
}

// durable is how many operations ask that something is durable, or would if the workload synced: syncs
// as they were counted, files, or else writes.
func (m *Measurement) durable() float64 {
	for _, name := range []string{"sync.ios", "sync.count", "filesync.count", "write.ios"} {
		if n := m.Metrics[name].Value; n > 0 {
			return n
		}
	}
	return 0
}
