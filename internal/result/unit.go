package result

import (
	"slices"
	"strings"
)

// timed are words in the names of metrics that are times.
var timed = []string{"latency", "completion", "submission", "wait", "slice", "duration", "await", "seconds"}

// UnitOf returns the unit of a metric, from its name: the status has names and values only.
func UnitOf(metric string) string {
	words := strings.Split(metric, ".")
	last := words[len(words)-1]
	switch {
	case last == "bandwidth", strings.HasPrefix(metric, "background."):
		return BytesPerSecond
	case last == "bytes", strings.HasPrefix(metric, "device.request.size."), strings.HasPrefix(metric, "device.seek.distance."):
		return Bytes
	case last == "share", last == "ratio", last == "random", metric == FlushesMetric, strings.HasPrefix(metric, "cpu."), metric == "runner.cpu":
		return Ratio
	case last == "iops", last == "rate", last == "offered":
		return PerSecond
	case slices.ContainsFunc(words, func(word string) bool { return slices.Contains(timed, word) }):
		return Seconds
	default:
		return Count
	}
}
