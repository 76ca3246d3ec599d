package verdict

import (
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// littlePairs are lies of a closed loop whose rate and latency do not make its depth.
var littlePairs = map[string]pair{
	"fio's own work between I/Os": {
		verdict: CPUBound, effect: result.Qualifies, lie: setting(result.LittlesLaw, 0.94),
		twins: map[string]func(*Facts){"next to nothing": setting(result.LittlesLaw, 0.96), "a queue that is full": setting(result.LittlesLaw, 1.0)},
	},
	"fio's own work for more than half of the time": {verdict: CPUBound, effect: result.Invalidates, lie: setting(result.LittlesLaw, 0.5)},
	"more in flight than there can be": {
		verdict: ToolErrors, effect: result.Qualifies, lie: setting(result.LittlesLaw, 1.06),
		twins: map[string]func(*Facts){"a rounded time": setting(result.LittlesLaw, 1.04)},
	},
	"twice what there can be": {verdict: ToolErrors, effect: result.Invalidates, lie: setting(result.LittlesLaw, 2.0)},
	"a quota that stops fio between I/Os": {
		verdict: CPUThrottled, effect: result.Qualifies, lie: setting(result.LittlesLaw, 0.9, "cpu.throttled", 0.1),
	},
}

// Of several jobs, the law is that of each.
func TestLittlesLawIsAskedOfEachJob(t *testing.T) {
	closed := jobOfWorld{operation: "read", bytes: 4 << 30, direct: true, metrics: map[string]float64{result.LittlesLaw: 1}}
	between := jobOfWorld{operation: "read", bytes: 4 << 30, direct: true, metrics: map[string]float64{result.LittlesLaw: 0.8}}
	f := jobsOf(closed, between)
	f.set(result.LittlesLaw, 0.96)
	v := Judge(f)
	if effectOn(v, CPUBound, "job-0") != "" || effectOn(v, CPUBound, "job-1") != result.Qualifies || effectOn(v, CPUBound, "") != "" {
		t.Errorf("%+v", v)
	}
}
