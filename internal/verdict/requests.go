package verdict

import (
	"fmt"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// mistaken is by how much the share of others may be too large, as of requests that were missed.
const mistaken = 0.02

// foreignReads is what other processes read of the workload's disks at least. What others did may all have been writes, as
// long as the disks wrote as much. It is 0 where only a sample of the requests was observed, and where they were observed for
// longer than the disks are compared with the workload.
func (f *Facts) foreignReads() float64 {
	if f.has("device.sampled.share") && f.value("device.sampled.share") < 1 || f.value("device.seconds") != f.inAll("device.seconds") {
		return 0
	}
	share, writes := min(1, f.value("device.foreign.share"))-mistaken, f.inAll("device.write.bytes")
	return max(0, share*(f.inAll("device.read.bytes")+writes)-writes)
}

// foreignRequests: other processes submitted requests to the workload's disks. Where requests were
// observed, this is known of each of them, and so also beside buffered and synced writes and on
// file systems of which noisyNeighbour cannot tell what is their own. Requests of the kernel's
// threads may be anybody's and do not count.
func foreignRequests(f *Facts) []result.Verdict {
	share, duration := min(1, f.value("device.foreign.share")), f.inAll("device.seconds")
	foreign := share * (f.inAll("device.read.bytes") + f.inAll("device.write.bytes"))
	if share <= 0.05 || duration <= 0 || foreign < faint*duration {
		return nil
	}
	e := result.Qualifies
	if share > 0.2 {
		e = result.Invalidates
	}
	return []result.Verdict{{
		Name: NoisyNeighbour, Effect: e, Settle: "Find out who else uses the disks, and measure again without it.",
		Sentence: fmt.Sprintf("Other processes than the workload's moved %s of what the disks moved, %s per second.", percent(share), report.Bytes(foreign/duration)),
		Evidence: evidence(
			number{"foreign.bytes", result.Bytes, foreign},
			number{"share", result.Ratio, share},
			number{"unknown.share", result.Ratio, min(1, f.value("device.unknown.share"))},
		),
	}}
}
