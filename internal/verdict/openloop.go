package verdict

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// open reports whether operations were begun at times that were fixed before the trial.
func (f *Facts) open() bool {
	for name := range f.Measurement.Metrics {
		if strings.HasSuffix(name, ".rate.offered") {
			return true
		}
	}
	return false
}

// overloaded: operations came faster than the storage completed them, so that they waited longer
// and longer. The rate is then what the storage can do, but the latency says for how long it was
// asked to do more.
func overloaded(f *Facts) []result.Verdict {
	var out []result.Verdict
	for _, op := range f.operations() {
		backlog, offered := f.value(op+".backlog"), f.value(op+".rate.offered")
		if backlog <= 0 || offered <= 0 {
			continue
		}
		achieved := f.value(op + ".iops")
		if achieved == 0 {
			achieved = f.value(op + ".rate")
		}
		v := result.Verdict{
			Name: Overloaded, Effect: result.Invalidates, Operation: op,
			Sentence: fmt.Sprintf("The storage did not keep up with the offered rate: %s of %s per second were done, and %.0f had not begun at the end. The rate is what it can do with so many outstanding; latencies depend on how long the trial was.", report.Number(achieved), report.Number(offered), backlog),
			Settle:   "Offer a lower rate, or allow more outstanding operations (iodepth of fio, threads of filesync).",
			Evidence: evidence(
				number{"offered", result.PerSecond, offered},
				number{"achieved", result.PerSecond, achieved},
				number{"backlog", result.Count, backlog},
			),
		}
		out = append(out, v)
		if op == "filesync" && slices.Contains(f.operations(), "wait") { // which is the backlog itself
			v.Operation = "wait"
			out = append(out, v)
		}
	}
	return out
}
