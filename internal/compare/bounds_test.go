package compare

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func TestALowerBoundIsNoRegressionAndNoProof(t *testing.T) {
	low, high := 90.0, 110.0
	exact := result.Estimate{N: 6, Median: 100, Low: &low, High: &high}
	bound := result.Estimate{N: 6, Median: 10, Low: &low, Bounds: 3, AtLeast: true}
	for _, pair := range [][2]result.Estimate{{exact, bound}, {bound, exact}} {
		m := metric("read.bandwidth", pair[0], pair[1], 0.05)
		if m.Verdict != Inconclusive || m.Ratio != nil || !strings.Contains(m.Reason, "too fast to be measured") {
			t.Errorf("%+v", m)
		}
	}
	if m := metric("read.bandwidth", exact, exact, 0.5); m.Verdict != NoWorse {
		t.Errorf("without a bound: %+v", m)
	}
}
