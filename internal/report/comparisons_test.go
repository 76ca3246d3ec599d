package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLatenciesOfDisksAreNoHeadlines(t *testing.T) {
	metrics := map[string]bool{"read.iops": true, "read.latency.p99": true, "sync.latency.p99": true, "device.read.latency.p99": true, "device.flush.latency.p99": true}
	if diff := cmp.Diff([]string{"read.iops", "read.latency.p99", "sync.latency.p99"}, Headlines([]string{"read"}, metrics)); diff != "" {
		t.Error(diff)
	}
}
