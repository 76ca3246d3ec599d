package export

import (
	"errors"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

func TestRowsHasALineForEachRowAndMetric(t *testing.T) {
	low, high, pooled := 900.0, 1100.0, 0.00125
	s := result.Summary{Rows: []result.Row{{
		Target: "fast", Workload: "o,ltp", Part: "log", Node: "a", N: 6, Metrics: map[string]result.Estimate{
			"read.latency.p99": {Unit: result.Seconds, N: 6, Median: 0.001, Pooled: &pooled},
			"read.iops":        {Unit: result.PerSecond, N: 6, Median: 1234567.5, Low: &low, High: &high},
		},
		Operations: []string{"read"},
		Verdicts: []result.RowVerdict{
			{Verdict: result.Verdict{Name: "FromMemory", Effect: result.Invalidates, Operation: "read"}, Trials: 6},
			{Verdict: result.Verdict{Name: "Throttled", Effect: result.Qualifies}, Trials: 1},
		},
	}, {Target: "slow", Metrics: map[string]result.Estimate{"x.rate": {N: 1}}}}}
	var text strings.Builder
	if err := Rows(&text, s); err != nil {
		t.Fatal(err)
	}
	want := `target,node,workload,variant,metric,unit,n,median,low,high,pooled,part,verdicts,bounds,at_least
fast,a,"o,ltp",,read.iops,1/s,6,1234567.5,900,1100,,log,invalid: FromMemory; qualified: Throttled,0,false
fast,a,"o,ltp",,read.latency.p99,seconds,6,0.001,,,0.00125,log,invalid: FromMemory; qualified: Throttled,0,false
slow,,,,x.rate,,1,0,,,,,,0,false
`
	if text.String() != want {
		t.Errorf("got\n%s", text.String())
	}
}

func TestABoundStandsInALine(t *testing.T) {
	low := 1.5 * (1 << 30)
	s := result.Summary{Rows: []result.Row{{
		Target: "fast", Workload: "bon", Node: "a", N: 6, Operations: []string{"read"},
		Metrics: map[string]result.Estimate{"read.bandwidth": {Unit: result.BytesPerSecond, N: 6, Median: 2 << 30, Low: &low, Bounds: 3, AtLeast: true}},
	}}}
	var text strings.Builder
	if err := Rows(&text, s); err != nil {
		t.Fatal(err)
	}
	if want := "read.bandwidth,bytes/s,6,2147483648,1610612736,,,,,3,true\n"; !strings.HasSuffix(text.String(), want) {
		t.Errorf("%q is missing in\n%s", want, text.String())
	}
}

// invalidVariant is a comparison whose variant is 90 times the control, from memory.
func invalidVariant() result.Summary {
	row := func(variant string, verdicts ...result.RowVerdict) result.Row {
		return result.Row{Target: "t", Node: "n", Workload: "w", Variant: variant, N: 6, Operations: []string{"read", "write"}, Verdicts: verdicts}
	}
	change := result.Change{Unit: result.PerSecond, Pairs: 6, Control: 1000, Variant: 90000, Ratio: &result.Interval{Median: 90}, Difference: result.Interval{Median: 89000}}
	return result.Summary{
		Rows: []result.Row{row("a"), row("b", result.RowVerdict{Verdict: result.Verdict{Name: "FromMemory", Effect: result.Invalidates, Operation: "write"}, Trials: 6})},
		Comparisons: []result.Comparison{{
			Target: "t", Node: "n", Workload: "w", Variant: "b", Control: "a", Operations: []string{"read", "write"},
			Metrics: map[string]result.Change{"read.iops": change, "write.iops": change},
		}},
	}
}

// A ratio goes nowhere without what its two sides are worth.
func TestARatioSaysThatASideIsInvalid(t *testing.T) {
	s := invalidVariant()
	var lines, markdown strings.Builder
	if err := errors.Join(Comparisons(&lines, s), Markdown(&markdown, s)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{lines.String(), "difference,difference_low,difference_high,verdicts\n"},
		{lines.String(), "read.iops,1/s,6,0,1000,90000,90,,,89000,,,\n"},
		{lines.String(), "write.iops,1/s,6,0,1000,90000,90,,,89000,,,variant invalid: FromMemory\n"},
		{markdown.String(), "| Ratio | 95 % interval | Worth |\n|---|---|---|---|--:|--:|--:|--:|--:|---|\n"},
		{markdown.String(), "| `read.iops` | 6 | 1.00k | 90.0k | 90.000 | – | – |\n"},
		{markdown.String(), "| `write.iops` | 6 | 1.00k | 90.0k | 90.000 | – | variant invalid: FromMemory |\n"},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("%q is missing in\n%s", c.want, c.text)
		}
	}
}

// A point of a sweep goes nowhere without the verdicts on it.
func TestAPointOfASweepNamesItsVerdicts(t *testing.T) {
	s := result.Summary{
		Rows: []result.Row{{
			Target: "t", Node: "n", Workload: "w@size-1m", Operations: []string{"read"},
			Verdicts: []result.RowVerdict{{Verdict: result.Verdict{Name: "WorkingSetTooSmall", Effect: result.Qualifies}}},
		}},
		Sweeps: []result.Sweep{{
			Target: "t", Node: "n", Workload: "w", Parameters: []string{"size"}, Metric: "read.iops", Unit: result.PerSecond, Best: new(0),
			Points: []result.SweepPoint{{Workload: "w@size-1m", Values: []string{"1m"}, N: 6, Estimate: &result.Interval{Median: 1000}}},
		}},
	}
	var lines, markdown strings.Builder
	if err := errors.Join(Sweeps(&lines, s), Markdown(&markdown, s)); err != nil {
		t.Fatal(err)
	}
	if want := ",best; qualified: WorkingSetTooSmall\n"; !strings.HasSuffix(lines.String(), want) {
		t.Errorf("%q is missing in\n%s", want, lines.String())
	}
	if want := "| best; qualified: WorkingSetTooSmall |\n"; !strings.Contains(markdown.String(), want) {
		t.Errorf("%q is missing in\n%s", want, markdown.String())
	}
}

// A verdict on one job of a trial stands beside the numbers of that job only.
func TestAVerdictOnAJobStandsBesideItsNumbers(t *testing.T) {
	part := func(name string) result.PartSummary {
		return result.PartSummary{Name: name, Operations: []string{"read"}, Metrics: result.Metrics{"read.iops": {Unit: result.PerSecond, Value: 5}}}
	}
	workers := []report.WorkerTrials{{Trials: []result.TrialSummary{{
		Outcome: result.Measured, Parts: []result.PartSummary{part("a"), part("b")},
		Verdicts: []result.Verdict{{Name: "FromMemory", Effect: result.Invalidates, Operation: "read", Parts: []string{"b"}}},
	}}}}
	var trials, benchmarks strings.Builder
	if err := errors.Join(Trials(&trials, workers), Benchstat(&benchmarks, result.Summary{}, workers)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{trials.String(), benchmarks.String()} {
		for line := range strings.Lines(text) {
			if said := strings.Contains(line, "FromMemory"); said != (strings.Contains(line, ",b,") || strings.Contains(line, "part=b")) {
				t.Errorf("%q", line)
			}
		}
		if strings.Count(text, "FromMemory") != 1 {
			t.Errorf("it is said of one line:\n%s", text)
		}
	}
}
