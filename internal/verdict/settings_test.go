package verdict

import (
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// The disk's requests are counted from the start of fio to its end, of which a trial of two seconds is a part. Each of
// the workload's writes was four of the disk's, which the limit counts.
func TestALimitIsSeenInTheTimeOfTheWorkloadItself(t *testing.T) {
	trial := func(requests float64, more ...string) Facts {
		m := result.Metrics{}
		m.Set("limit.write.count", result.Count, 100)
		m.Set("device.write.count", result.Count, requests)
		m.Set("device.seconds", result.Seconds, 3)
		m.Set("write.iops", result.PerSecond, requests/4/2)
		m.Set("write.bytes", result.Bytes, requests*4096)
		m.Set("write.bandwidth", result.BytesPerSecond, requests*4096/2)
		for _, name := range more {
			m.Set(name, result.Seconds, 1)
		}
		return Facts{Measurement: result.Measurement{
			Operations: []string{"write"}, Metrics: m, Input: "rw=randwrite\n", DirectIO: &result.DirectIO{Requested: true, Effective: result.Direct},
		}}
	}
	for name, c := range map[string]struct {
		facts Facts
		want  int
	}{
		"at the limit":               {trial(200), 1},
		"far from it":                {trial(120), 0},
		"before and after it, files": {trial(200, "phase.create.duration"), 0}, // PostMark's, which are no part of its rate
	} {
		if got := throttled(&c.facts); len(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
