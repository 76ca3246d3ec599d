package result

import "strings"

// UnitOf returns the unit of a metric, from its name: the status has names and values only.
func UnitOf(metric string) string {
	last := metric[strings.LastIndexByte(metric, '.')+1:]
	in := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains("."+metric+".", "."+word+".") {
				return true
			}
		}
		return false
	}
	switch {
	case last == "bandwidth", strings.HasPrefix(metric, "background."):
		return BytesPerSecond
	case last == "bytes", strings.HasPrefix(metric, "device.request.size."), strings.HasPrefix(metric, "device.seek.distance."):
		return Bytes
	case last == "share", last == "ratio", last == "random", last == "busy", metric == FlushesMetric, strings.HasPrefix(metric, "cpu."), metric == "runner.cpu":
		return Ratio
	case last == "iops", last == "rate", last == "offered":
		return PerSecond
	case last == "duration", last == "await", last == "seconds", in("latency", "completion", "submission", "wait", "slice"):
		return Seconds
	default:
		return Count
	}
}
