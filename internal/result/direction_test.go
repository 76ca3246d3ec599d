package result

import "testing"

func TestNamesSayWhichWayIsBetter(t *testing.T) {
	for name, want := range map[string]Direction{
		"read.iops": Higher, "transactions.rate": Higher, "write.bandwidth": Higher,
		"sync.latency.p99": Lower, "read.completion.p99": Lower, "read.submission.mean": Lower, "littles.law.ratio": "", "write.latency.mean": Lower, "drain.duration": Lower, "device.write.await": Lower, "read.char.bandwidth": Higher, "read.char.latency.max": Lower,
		"read.ios": "", "read.bytes": "", "cpu.user": "", "create.count": "", "iops": "",
	} {
		if got, ok := Better(name); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}
