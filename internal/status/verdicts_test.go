package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

func rowVerdict(name string, effect result.Effect, op string, trials int) result.RowVerdict {
	return result.RowVerdict{Trials: trials, Verdict: result.Verdict{
		Name: name, Effect: effect, Operation: op, Sentence: "It is " + name + ".", Settle: "Measure again.", Evidence: result.Metrics{"share": {Value: 1}},
	}}
}

// What a number is worth is the same whether it is read from the summary or from the status.
func TestVerdictsAndControlsComeThroughAStatus(t *testing.T) {
	row := func(node, variant string, verdicts ...result.RowVerdict) result.Row {
		r := summary(1).Rows[0]
		r.Node, r.Variant, r.Verdicts = node, variant, verdicts
		return r
	}
	compared := func(node, variant, control string) result.Comparison {
		return result.Comparison{
			Target: "fast", Workload: "oltp", Node: node, Variant: variant, Control: control, Operations: []string{"read", "write"},
			Metrics: map[string]result.Change{"read.iops": {Unit: result.PerSecond, Pairs: 6, Control: 100, Variant: 100, Ratio: &result.Interval{Median: 1, Low: new(0.9), High: new(1.1)}}},
		}
	}
	memory, limit := rowVerdict("FromMemory", result.Invalidates, "read", 5), rowVerdict("Throttled", result.Qualifies, "", 6)
	s := result.Summary{
		Rows: []result.Row{
			row("a", "plain", memory, rowVerdict("FromMemory", result.Invalidates, "write", 5)),
			row("a", "slow", limit), row("a", "slower", limit, rowVerdict("BackgroundIO", result.Qualifies, "", 1)),
			row("b", "plain"), row("b", "slow", memory),
		},
		Comparisons: []result.Comparison{compared("a", "slow", "plain"), compared("a", "slower", "plain"), compared("b", "slow", "plain")},
	}
	s.Rows[3].TrialSeconds = 0.25
	st := v1alpha1.StorageBenchmarkStatus{}
	Summary(&st, s)
	back := result.Summary{Rows: Rows(st), Comparisons: Comparisons(st)}
	for i, c := range back.Comparisons {
		if c.Control != "plain" {
			t.Errorf("comparison %d is with %q", i, c.Control)
		}
	}
	for i, want := range s.Rows {
		for _, op := range []string{"read", "write"} {
			if got := report.Worth(back.Rows[i], op); got != report.Worth(want, op) {
				t.Errorf("row %d: %s is worth %q, want %q", i, op, got, report.Worth(want, op))
			}
		}
	}
	var before, after strings.Builder
	if err := errors.Join(report.Comparisons(&before, s), report.Comparisons(&after, back)); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() || strings.Count(before.String(), "invalid: FromMemory") != 3 {
		t.Errorf("the report of the summary\n%s\nand of the status\n%s", before.String(), after.String())
	}
}

func TestAStatusSaysAVerdictOnceForAllItsOperations(t *testing.T) {
	st := v1alpha1.StorageBenchmarkStatus{}
	s := summary(1)
	s.Rows[0].Verdicts = []result.RowVerdict{rowVerdict("FromMemory", result.Invalidates, "read", 5), rowVerdict("FromMemory", result.Invalidates, "write", 6), rowVerdict("Throttled", result.Qualifies, "", 2)}
	Summary(&st, s)
	y, err := yaml.Marshal(st.Summary[0].Verdicts)
	if err != nil {
		t.Fatal(err)
	}
	const want = `- effect: Invalidates
  message: It is FromMemory.
  name: FromMemory
  operations:
  - read
  - write
  trials: 6
- effect: Qualifies
  message: It is Throttled.
  name: Throttled
  trials: 2
`
	if string(y) != want {
		t.Errorf("got\n%s\nwant\n%s", y, want)
	}
	if !strings.Contains(st.Headline, "[invalid: FromMemory; qualified: Throttled]") {
		t.Errorf("the headline is %q", st.Headline)
	}
}

// Whatever a worker uploads, the status fits into an object, and every row keeps the names.
func TestAStatusWithManyVerdictsStaysSmall(t *testing.T) {
	s := summary(MaxRows + 1)
	for i := range s.Rows {
		for n := range MaxVerdicts + 1 {
			for op := range MaxOperations + 1 {
				v := rowVerdict(fmt.Sprint("Verdict", n), result.Invalidates, fmt.Sprintf("%064d", op), 1)
				v.Sentence = strings.Repeat("é", 500)
				s.Rows[i].Verdicts = append(s.Rows[i].Verdicts, v)
			}
		}
	}
	st := v1alpha1.StorageBenchmarkStatus{}
	Summary(&st, s)
	y, err := yaml.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	first, last := st.Summary[0].Verdicts, st.Summary[MaxRows-1].Verdicts
	if len(first) != MaxVerdicts || len(first[0].Message) > 320 || len(first[0].Operations) != MaxOperations || len(y) > 500_000 {
		t.Errorf("%d verdicts, the first %+v; %d bytes", len(first), first[0], len(y))
	}
	if len(last) != MaxVerdicts || last[0].Message != "" || last[0].Name != "Verdict0" {
		t.Errorf("the last row has %+v", last)
	}
}
