package status

import (
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func TestABoundIsOneInTheStatusToo(t *testing.T) {
	row := result.Row{Metrics: map[string]result.Estimate{
		"read.bandwidth":  {N: 6, Median: 2 << 30, Bounds: 3, AtLeast: true},
		"write.bandwidth": {N: 6, Median: 1 << 30},
	}}
	if e := estimate(row, "read.bandwidth"); e.Bounds != 3 || !e.AtLeast {
		t.Errorf("%+v", e)
	}
	if e := estimate(row, "write.bandwidth"); e.Bounds != 0 || e.AtLeast {
		t.Errorf("%+v", e)
	}
	if e := estimate(row, "trim.bandwidth"); e != nil {
		t.Errorf("%+v", e)
	}
}
