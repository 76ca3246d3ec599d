package report

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func TestABoundIsShownWithItsOwnNumberOfTrials(t *testing.T) {
	low := 1.5 * (1 << 30)
	s := result.Summary{Rows: []result.Row{{
		Target: "fast", Workload: "bon", Node: "a", N: 6, Operations: []string{"read", "rewrite"},
		Metrics: map[string]result.Estimate{
			"read.bandwidth":            {Unit: result.BytesPerSecond, N: 6, Median: 2 << 30, Low: &low, Bounds: 3, AtLeast: true},
			"rewrite.bandwidth":         {Unit: result.BytesPerSecond, N: 6, Median: 1 << 30, Bounds: 1},
			"read.64KiB.4KiB.bandwidth": {Unit: result.BytesPerSecond, N: 6, Median: 1 << 30, Bounds: 6, AtLeast: true},
		},
	}}}
	var table, matrix strings.Builder
	for _, err := range []error{Table(&table, s), Matrix(&matrix, s)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for text, wants := range map[string][]string{
		table.String():  {"≥ 2.00 GiB/s (3 of 6)", "≥ 1.50 GiB/s", "1.00 GiB/s (1 of 6 above)"},
		matrix.String(): {"≥ 1.00 GiB/s (6 of 6)"},
		Headline(s):     {"read ≥ 2.00 GiB/s (3 of 6)", "rewrite 1.00 GiB/s (1 of 6 above)"},
	} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text)
			}
		}
	}
}
