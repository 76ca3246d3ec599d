package report

import (
	"errors"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// judged is a run with a control that memory answered, and a variant that a limit holds back.
func judged() result.Summary {
	row := func(variant string, verdicts ...result.RowVerdict) result.Row {
		return result.Row{
			Target: "fast", Workload: "oltp", Variant: variant, Node: "a", N: 6, Operations: []string{"read", "write"}, Verdicts: verdicts,
			Metrics: map[string]result.Estimate{
				"read.iops":  {Unit: result.PerSecond, N: 6, Median: 1000},
				"write.iops": {Unit: result.PerSecond, N: 6, Median: 10},
			},
		}
	}
	memory := result.Verdict{Name: "FromMemory", Effect: result.Invalidates, Operation: "read", Sentence: "90 % came from memory.", Settle: "Use direct=1."}
	limit := result.Verdict{Name: "Throttled", Effect: result.Qualifies, Sentence: "A limit decides."}
	return result.Summary{
		Rows: []result.Row{row("plain", result.RowVerdict{Verdict: memory, Trials: 5}), row("slow", result.RowVerdict{Verdict: limit, Trials: 6})},
		Comparisons: []result.Comparison{{
			Target: "fast", Workload: "oltp", Node: "a", Variant: "slow", Control: "plain", Operations: []string{"read", "write"},
			Metrics: map[string]result.Change{"read.iops": {Unit: result.PerSecond, Pairs: 6, Control: 1000, Variant: 1000}, "write.iops": {Unit: result.PerSecond, Pairs: 6}},
		}},
	}
}

// Wherever a number goes, what it is worth goes with it, and other numbers are left alone.
func TestVerdictsGoWhereTheNumberGoes(t *testing.T) {
	s := judged()
	for name, c := range map[string]struct {
		write func(*strings.Builder) error
		want  []string // a word for each line after the header, "" where no verdict may stand
	}{
		"table":       {func(b *strings.Builder) error { return Table(b, s) }, []string{"invalid: FromMemory", "-", "qualified: Throttled", "qualified: Throttled"}},
		"comparisons": {func(b *strings.Builder) error { return Comparisons(b, s) }, []string{"", "control invalid: FromMemory", "-"}},
		"sentences": {func(b *strings.Builder) error { return WriteVerdicts(b, s) }, []string{
			"FromMemory invalidates (fast/oltp.plain/a read, 5 of 6): 90 % came from memory. Use direct=1.",
			"Throttled qualifies (fast/oltp.slow/a, 6 of 6): A limit decides.",
		}},
	} {
		var text strings.Builder
		if err := c.write(&text); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")[1:]
		if len(lines) != len(c.want) {
			t.Errorf("%s: %d lines:\n%s", name, len(lines), text.String())
			continue
		}
		for i, line := range lines {
			if !strings.HasSuffix(line, c.want[i]) {
				t.Errorf("%s, line %d: want %q at the end of %q", name, i, c.want[i], line)
			}
		}
	}
	if got, want := Headline(s), "oltp: read 1.00k IOPS [invalid: FromMemory]; write 10.0 IOPS"; got != want {
		t.Errorf("headline %q, want %q", got, want)
	}
	s.Rows[0].Verdicts, s.Rows[1].Verdicts = nil, nil
	var text strings.Builder
	if err := Table(&text, s); err != nil || strings.Contains(text.String(), "VERDICT") {
		t.Errorf("a table without verdicts has a column for them (%v):\n%s", err, text.String())
	}
}

func TestOperationsWithOneReasonShareALine(t *testing.T) {
	v := result.Verdict{Name: "FromMemory", Effect: result.Invalidates, Sentence: "All of it."}
	read, write := v, v
	read.Operation, write.Operation = "read", "write"
	other := write
	other.Effect = result.Qualifies
	got := Verdicts(result.Row{Verdicts: []result.RowVerdict{{Verdict: read, Trials: 2}, {Verdict: write, Trials: 3}, {Verdict: other, Trials: 1}}})
	if len(got) != 2 || strings.Join(got[0].Operations, " ") != "read write" || got[0].Trials != 3 || len(got[1].Operations) != 1 {
		t.Errorf("%+v", got)
	}
}

// A verdict on a part says which part, and one on a mixture that is in no row is not written.
func TestVerdictsOfPartsNameThem(t *testing.T) {
	v := []result.RowVerdict{{Verdict: result.Verdict{Name: "Throttled", Effect: result.Qualifies, Sentence: "A limit."}, Trials: 1}}
	row := func(part string, operations ...string) result.Row {
		return result.Row{Target: "t", Workload: "w", Part: part, Node: "n", N: 1, Operations: operations, Verdicts: v}
	}
	var text strings.Builder
	if err := WriteVerdicts(&text, result.Summary{Rows: []result.Row{row(""), row("log", "write"), row("scan", "read")}}); err != nil {
		t.Fatal(err)
	}
	if want := "\nThrottled qualifies (t/w[log]/n, 1 of 1; t/w[scan]/n, 1 of 1): A limit.\n"; text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
}

func TestARowOfShortTrialsIsMarked(t *testing.T) {
	row := result.Row{
		Target: "t", Workload: "w", Node: "n", N: 2, Operations: []string{"read"}, TrialSeconds: 0.0066,
		Metrics: map[string]result.Estimate{"read.iops": {Unit: result.PerSecond, N: 2, Median: 1240}},
	}
	s := result.Summary{Rows: []result.Row{row}}
	if got, want := Headline(s), "w: read 1.24k IOPS [short: 6.60ms]"; got != want {
		t.Errorf("the headline is %q, want %q", got, want)
	}
	var out strings.Builder
	if err := errors.Join(Table(&out, s), WriteVerdicts(&out, s)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"VERDICT\n", " short: 6.60ms\n", "\nshort (t/w/n, 6.60ms): less than a second was measured"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	s.Rows[0].Verdicts = []result.RowVerdict{{Verdict: result.Verdict{Name: "Throttled", Effect: result.Qualifies}, Trials: 1}}
	if got := Worth(s.Rows[0], "read"); got != "qualified: Throttled; short: 6.60ms" {
		t.Errorf("beside a verdict: %q", got)
	}
}

func TestAMetricIsWorthWhatItsOperationIs(t *testing.T) {
	row := func(invalid ...string) result.Row {
		r := result.Row{Operations: []string{"transactions", "create"}}
		for _, op := range invalid {
			r.Verdicts = append(r.Verdicts, result.RowVerdict{Verdict: result.Verdict{Name: "FromMemory", Effect: result.Invalidates, Operation: op}})
		}
		return r
	}
	for _, c := range []struct {
		row    result.Row
		metric string
		want   bool
	}{
		{row("transactions"), "transactions.rate", true},
		{row("transactions"), "phase.transactions.duration", true},
		{row("transactions"), "original.transactions.rate", true},
		{row("transactions"), "original.create.count", false},
		{row("transactions"), "create.rate", false},
		{row("transactions"), "original.total.duration", false},
		{row("transactions", "create"), "original.total.duration", true},
		{row("transactions", "create"), "drain.duration", true},
		{row("transactions", "create"), "device.write.bytes", false},
		{row(""), "drain.duration", true},
		{row(""), "device.write.bytes", true},
		{row(), "original.total.duration", false},
	} {
		if got := Invalid(c.row, c.metric); (len(got) == 1) != c.want || len(got) > 1 {
			t.Errorf("%s of a row with %+v: invalid by %v", c.metric, c.row.Verdicts, got)
		}
	}
}
