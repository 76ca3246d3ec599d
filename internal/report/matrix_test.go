package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/result"
)

func TestTheMatrixHasATableForEachOperation(t *testing.T) {
	cell := func(mebi float64) result.Estimate {
		return result.Estimate{Unit: result.BytesPerSecond, N: 3, Median: mebi * (1 << 20)}
	}
	s := result.Summary{Rows: []result.Row{
		{Target: "fast", Workload: "oltp", Node: "a", N: 3, Metrics: map[string]result.Estimate{"read.bandwidth": cell(7), "read.iops": {Median: 1}}},
		{
			Target: "fast", Workload: "sizes", Node: "a", N: 3, Operations: []string{"write", "random.read"},
			Metrics: map[string]result.Estimate{
				"write.512MiB.4KiB.bandwidth": cell(48), "write.512MiB.1MiB.bandwidth": cell(210), "write.64KiB.4KiB.bandwidth": cell(1500),
				"write.bandwidth":                   cell(210),
				"random.read.512MiB.1MiB.bandwidth": cell(99), "random.read.bandwidth": cell(99),
				"aside.1GiB.1500B.bandwidth": cell(1),
				"write.cpu":                  {Median: 0.5},
			},
		},
	}}
	const want = `
write of sizes on fast at a: median of 3, by file and record size
    FILE         4KiB       1MiB
   64KiB  1.46 GiB/s          -
  512MiB  48.0 MiB/s  210 MiB/s

random.read of sizes on fast at a: median of 3, by file and record size
    FILE       1MiB
  512MiB  99.0 MiB/s

aside of sizes on fast at a: median of 3, by file and record size
  FILE       1500B
  1GiB  1.00 MiB/s
`
	var text strings.Builder
	if err := Matrix(&text, s); err != nil {
		t.Fatal(err)
	}
	// How many spaces there are is the tabwriter's business.
	squeeze := func(s string) [][]string {
		var out [][]string
		for line := range strings.Lines(s) {
			out = append(out, strings.Fields(line))
		}
		return out
	}
	if diff := cmp.Diff(squeeze(want), squeeze(text.String())); diff != "" {
		t.Errorf("%s\n%s", diff, text.String())
	}
}

func TestARunWithoutAMatrixHasNone(t *testing.T) {
	var text strings.Builder
	if err := Matrix(&text, ofOtherEngines()); err != nil || text.Len() > 0 {
		t.Errorf("%q, %v", text.String(), err)
	}
}

func TestSizesAreSortedByHowLargeTheyAre(t *testing.T) {
	names := map[string]int{"1GiB": 0, "900MiB": 0, "4KiB": 0, "16KiB": 0, "1000B": 0}
	if got := strings.Join(bySize(names), " "); got != "1000B 4KiB 16KiB 900MiB 1GiB" {
		t.Error(got)
	}
}
