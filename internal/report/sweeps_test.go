package report

import (
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// Beside each point stands what its own row is worth, for the metric that the sweep compares.
func TestNotesOfASweepNameTheVerdictsOnItsPoints(t *testing.T) {
	row := func(node, depth string, verdicts ...result.Verdict) result.Row {
		r := result.Row{Target: "t", Node: node, Workload: "w@iodepth-" + depth, Operations: []string{"read", "write"}}
		for _, v := range verdicts {
			r.Verdicts = append(r.Verdicts, result.RowVerdict{Verdict: v, Trials: 6})
		}
		return r
	}
	says := func(name, operation string) result.Verdict {
		return result.Verdict{Name: name, Effect: result.Qualifies, Operation: operation}
	}
	part := row("n", "1", says("BlockSizeLimited", ""))
	part.Part = "log"
	rows := []result.Row{
		row("m", "1", says("Throttled", "")), part,
		row("n", "1", says("NotSteady", "write")), row("n", "4", says("CPUBound", "")), row("n", "16", says("DepthIgnored", "read"), says("Throttled", "")),
		row("n", "32", says("Throttled", ""), result.Verdict{Name: "FromMemory", Effect: result.Invalidates}),
	}
	s := result.Sweep{Target: "t", Node: "n", Workload: "w", Parameters: []string{"iodepth"}, Metric: "read.iops", Unit: result.PerSecond, Best: new(2)}
	for _, depth := range []string{"1", "4", "16", "32", "64"} {
		s.Points = append(s.Points, result.SweepPoint{Workload: "w@iodepth-" + depth, Values: []string{depth}, Estimate: &result.Interval{Median: 1}})
	}
	s.Points[1].Tied, s.Points[3].InvalidatedBy, s.Points[4].Estimate = true, []string{"FromMemory"}, nil
	want := []string{"", "not told from the best; qualified: CPUBound", "best; qualified: DepthIgnored, Throttled", "invalid: FromMemory", ""}
	if got := SweepNotes(rows, s); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	var text strings.Builder
	if err := Sweeps(&text, result.Summary{Rows: rows, Sweeps: []result.Sweep{s}}); err != nil || !strings.Contains(text.String(), "best; qualified: DepthIgnored, Throttled\n") {
		t.Errorf("the table has no such note (%v):\n%s", err, text.String())
	}
}

// What is said of the whole trial has the reservations of all its operations, and of the disks those of none.
func TestAMetricIsQualifiedAsItsOperationIs(t *testing.T) {
	row := result.Row{Operations: []string{"create", "read"}}
	for _, v := range []result.Verdict{{Name: "Throttled", Operation: "read"}, {Name: "CPUBound"}, {Name: "FromMemory", Effect: result.Invalidates}} {
		if v.Effect == "" {
			v.Effect = result.Qualifies
		}
		row.Verdicts = append(row.Verdicts, result.RowVerdict{Verdict: v})
	}
	for metric, want := range map[string]string{"read.iops": "Throttled CPUBound", "create.rate": "CPUBound", "original.total.duration": "CPUBound Throttled", "device.read.bytes": "CPUBound"} {
		if got := strings.Join(Qualified(row, metric), " "); got != want {
			t.Errorf("%s is qualified by %q, want %q", metric, got, want)
		}
	}
}
