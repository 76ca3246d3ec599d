package report

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/result"
)

func TestNumbersHaveThreeDigitsAndAUnit(t *testing.T) {
	for want, got := range map[string]string{
		"0.00":       Number(0),
		"999":        Number(999),
		"1.00k":      Number(999.6),
		"12.3k":      Number(12345),
		"1.50M":      Number(1.5e6),
		"48.0 MiB/s": BytesPerSecond(48 << 20),
		"512 B":      Bytes(512),
		"750ns":      Seconds(750e-9),
		"310µs":      Seconds(310.2e-6),
		"1.25ms":     Seconds(1.25e-3),
		"17.2s":      Seconds(17.18),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTableAndHeadline(t *testing.T) {
	low, high, p99 := 900.0, 1100.0, 0.002
	row := func(node string, iops float64) result.Row {
		return result.Row{Target: "fast", Workload: "oltp", Node: node, N: 6, Metrics: map[string]result.Estimate{
			"read.iops":         {N: 6, Median: iops, Low: &low, High: &high},
			"read.bandwidth":    {N: 6, Median: iops * 4096},
			"read.latency.p50":  {N: 6, Median: 0.001},
			"read.latency.p99":  {N: 6, Median: 0.0015, Pooled: &p99},
			"write.iops":        {N: 6, Median: 10},
			"write.latency.p99": {N: 6, Median: 1},
		}}
	}
	s := result.Summary{Rows: []result.Row{row("a", 1000), row("b", 2000)}}

	var text strings.Builder
	if err := Table(&text, s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	if len(lines) != 6 || lines[5] != "" {
		t.Fatalf("want a header and four lines:\n%s", text.String())
	}
	if got := strings.Fields(lines[1]); strings.Join(got, " ") != "fast a oltp read 6 1.00k 900–1.10k 3.91 MiB/s 1.00ms 2.00ms -" {
		t.Errorf("line: %q", got)
	}
	if !strings.Contains(lines[2], "n < 6") {
		t.Errorf("a median without an interval must say why: %q", lines[2])
	}
	if got, want := Headline(s), "oltp: read 1.00k–2.00k IOPS, p99 ≤ 2.00ms; write 10.0 IOPS"; got != want {
		t.Errorf("headline %q, want %q", got, want)
	}
	if got := Headline(ofOtherEngines()); got != "mail: transactions 300/s, p99 ≤ 4.00ms; flood 2.00 MiB/s" {
		t.Errorf("headline %q", got)
	}
	if Headline(result.Summary{}) != "" {
		t.Error("a run without rows has a headline")
	}
}

func TestPartsHaveLinesAndMixturesHaveNone(t *testing.T) {
	row := func(workload, part string, ops ...string) result.Row {
		r := result.Row{Target: "fast", Workload: workload, Part: part, Node: "a", N: 6, Operations: ops, Metrics: map[string]result.Estimate{"device.read.bytes": {}}}
		for _, op := range ops {
			r.Metrics[op+".iops"] = result.Estimate{N: 6, Median: 10}
		}
		return r
	}
	s := result.Summary{
		Rows: []result.Row{
			row("mixed", ""), row("mixed", "log", "write"), row("mixed", "scan", "read"),
			row("alike", "", "read"), row("alike", "x", "read"), row("alike", "y", "read"), row("plain", "", "read"),
		},
		Comparisons: []result.Comparison{
			{Target: "fast", Workload: "mixed", Node: "a", Variant: "v", Metrics: map[string]result.Change{"device.flush.count": {Control: 1}}},
			{Target: "fast", Workload: "mixed", Part: "log", Node: "a", Variant: "v", Metrics: map[string]result.Change{"write.iops": {Control: 1}}},
		},
	}
	var text, comparisons strings.Builder
	if err := errors.Join(Table(&text, s), Comparisons(&comparisons, s)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(text.String()) {
		got = append(got, strings.Join(strings.Fields(line)[:5], " "))
	}
	want := []string{
		"TARGET NODE WORKLOAD PART OPERATION", "fast a mixed log write", "fast a mixed scan read",
		"fast a alike (all) read", "fast a alike x read", "fast a alike y read", "fast a plain - read",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	for line := range strings.Lines(strings.TrimSpace(comparisons.String())) {
		got = append(got, strings.Join(strings.Fields(line)[2:6], " "))
	}
	if diff := cmp.Diff([]string{"WORKLOAD VARIANT PART METRIC", "mixed v - device.flush.count", "mixed v log write.iops"}, got); diff != "" {
		t.Error(diff)
	}
	if got := Headline(s); got != "mixed[log]: write 10.0 IOPS" {
		t.Errorf("headline %q", got)
	}
}

func TestCompletionLatencyIsMarkedInTheTable(t *testing.T) {
	row := result.Row{Metrics: map[string]result.Estimate{"read.completion.p99": {Median: 0.002}, "write.latency.p99": {Median: 0.003}, "write.completion.p99": {Median: 0.001}}}
	if read, write, none := percentile(row, "read", "p99"), percentile(row, "write", "p99"), percentile(row, "trim", "p99"); read != "clat 2.00ms" || write != "3.00ms" || none != "-" {
		t.Errorf("%q, %q, %q", read, write, none)
	}
}

// ofOtherEngines is a run whose operations are no I/Os, in an order of their own.
func ofOtherEngines() result.Summary {
	low, high, p99 := 1<<20*1.0, 3<<20*1.0, 0.004
	return result.Summary{Rows: []result.Row{{
		Target: "fast", Workload: "mail", Node: "a", N: 6, Operations: []string{"transactions", "step", "flood"},
		Metrics: map[string]result.Estimate{
			"transactions.rate":        {N: 6, Median: 300},
			"transactions.latency.p99": {N: 6, Pooled: &p99},
			"flood.bandwidth":          {N: 6, Median: 2 << 20, Low: &low, High: &high},
			"step.latency.p99":         {N: 6, Pooled: &p99},
			"aside.rate":               {N: 6, Median: 1},
		},
	}}}
}

func TestOperationsAreThoseOfTheEngineInItsOrder(t *testing.T) {
	var text strings.Builder
	if err := Table(&text, ofOtherEngines()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	for i, want := range []string{
		"fast a mail transactions 6 300 n < 6 - - 4.00ms -",
		"fast a mail step 6 - - - - 4.00ms -",
		"fast a mail flood 6 - 1.00 MiB/s–3.00 MiB/s 2.00 MiB/s - - -",
	} {
		if got := strings.Join(strings.Fields(lines[i+1]), " "); got != want {
			t.Errorf("line %q, want %q", got, want)
		}
	}
	row := ofOtherEngines().Rows[0]
	row.Operations = nil
	if got := strings.Join(Operations(row), " "); got != "aside flood transactions" {
		t.Errorf("without an order: %s", got)
	}
}

func TestAnOrderThatMattersIsNamed(t *testing.T) {
	of := func(low, high float64) result.Change {
		return result.Change{Order: &result.Interval{Median: (low + high) / 2, Low: &low, High: &high}}
	}
	s := result.Summary{Comparisons: []result.Comparison{{
		Target: "fast", Workload: "w", Node: "a", Variant: "off", Metrics: map[string]result.Change{
			"read.iops": of(0.8, 0.9), "write.iops": of(0.9, 1.1), "sync.rate": {Order: &result.Interval{Median: 3}},
		},
	}}}
	var text strings.Builder
	if err := Comparisons(&text, s); err != nil {
		t.Fatal(err)
	}
	const want = "order matters: read.iops of w.off on fast at a: the later trial of a repeat measures 0.850 times the earlier one (0.800–0.900)\n"
	if !strings.HasSuffix(text.String(), want) || strings.Count(text.String(), "order matters") != 1 {
		t.Errorf("got\n%s", text.String())
	}
}

func TestARowShowsOfHowManyTrialsItsOwnRateIs(t *testing.T) {
	s := result.Summary{Rows: []result.Row{{Target: "t", Workload: "w", Node: "n", N: 6, Operations: []string{"create", "stat", "sync"}, Metrics: map[string]result.Estimate{
		"create.rate": {N: 6, Median: 5}, "stat.rate": {N: 2, Median: 7}, "sync.bandwidth": {N: 3, Median: 9},
	}}}}
	var text strings.Builder
	if err := Table(&text, s); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(text.String()) {
		got = append(got, strings.Join(strings.Fields(line)[3:5], " "))
	}
	if diff := cmp.Diff([]string{"OPERATION N", "create 6", "stat 2", "sync 3"}, got); diff != "" {
		t.Error(diff)
	}
}

// Of two runs that have measured different things, neither has a rate of 0 of the other's.
func TestTheHeadlineHasOnlyWhatWasMeasured(t *testing.T) {
	row := func(target, op string, rate float64) result.Row {
		return result.Row{Target: target, Workload: "w", Node: "n", N: 1, Operations: []string{op}, Metrics: map[string]result.Estimate{op + ".iops": {N: 1, Median: rate}}}
	}
	s := result.Summary{Rows: []result.Row{row("a", "read", 56_800), row("b", "write", 25_400), row("c", "read", 50_000)}}
	if got := Headline(s); got != "w: read 50.0k–56.8k IOPS; write 25.4k IOPS" {
		t.Error(got)
	}
}
