package export

import (
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// sample is a run of two trials in which text is every text.
func sample(text string) (result.Summary, []report.WorkerTrials) {
	verdict := result.Verdict{Name: "FromMemory", Effect: result.Invalidates, Operation: "read", Sentence: text, Settle: text}
	s := result.Summary{
		Benchmark: trial.Benchmark{Namespace: text, Name: text}, Run: text, Planned: 3, Stored: 3, FinishedAt: time.Unix(1700000000, 0),
		Rows: []result.Row{{
			Target: text, Workload: text, Node: text, Variant: text, Part: text, N: 2, Operations: []string{"read", "write"},
			Metrics: map[string]result.Estimate{
				"read.iops": {Unit: result.PerSecond, N: 2, Median: 1000}, "write.iops": {Unit: result.PerSecond, N: 2, Median: 500, Low: new(400.0), High: new(600.0)},
				text: {Unit: text, N: 2, Median: -1},
			},
			Verdicts: []result.RowVerdict{{Verdict: verdict, Trials: 1}},
		}},
		Comparisons: []result.Comparison{{
			Target: text, Workload: text, Node: text, Variant: text, Control: text, Part: text, Operations: []string{"read"},
			Metrics: map[string]result.Change{
				"read.iops": {Unit: result.PerSecond, Pairs: 6, Control: 100, Variant: 90, Ratio: &result.Interval{Median: 0.9, Low: new(0.85), High: new(0.95)}, Difference: result.Interval{Median: -10, Low: new(-15.0), High: new(-5.0)}},
				text:        {Unit: text, Pairs: 1, Difference: result.Interval{}},
			},
		}},
		Failures: map[string]*trial.Failure{text: {Class: "NoSpace", Message: text}},
	}
	one := func(id string, rate float64, verdicts ...result.Verdict) result.TrialSummary {
		return result.TrialSummary{
			Trial: trial.Trial{ID: id, Workload: text, Variant: text, Repeat: 1}, Outcome: result.Measured, Attempt: 1, StartedAt: time.Unix(1700000000, 0),
			Metrics:    result.Metrics{"read.iops": {Unit: result.PerSecond, Value: rate}, "read.latency.p99": {Unit: result.Seconds, Value: 0.001}, "sync.latency.p99": {Unit: result.Seconds, Value: 0.01}},
			Operations: []string{"read"}, Verdicts: verdicts,
			Parts: []result.PartSummary{{Name: "log", Operations: []string{"write"}, Metrics: result.Metrics{"write.bandwidth": {Unit: result.BytesPerSecond, Value: 4096, AtLeast: true}}}},
		}
	}
	workers := []report.WorkerTrials{{Worker: trial.Worker{Name: text, Target: text, Node: text}, Trials: []result.TrialSummary{
		one("a.r001", 1000), one("a.r002", 990, verdict),
		{Trial: trial.Trial{ID: "a.r003", Workload: text, Repeat: 3}, Outcome: result.Failed, Failure: &trial.Failure{Class: "NoSpace", Message: text}},
	}}}
	return s, workers
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A spreadsheet calculates what begins like a formula, whoever wrote it.
func TestNoCellOfACSVIsAFormula(t *testing.T) {
	for _, formula := range []string{`=HYPERLINK("http://evil","x")`, "+1+1", "-2+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1"} {
		s, workers := sample(formula)
		for name, write := range map[string]func(io.Writer) error{
			"rows":        func(w io.Writer) error { return Rows(w, s) },
			"trials":      func(w io.Writer) error { return Trials(w, workers) },
			"comparisons": func(w io.Writer) error { return Comparisons(w, s) },
		} {
			lines, err := csv.NewReader(strings.NewReader(written(t, write))).ReadAll()
			if err != nil || len(lines) < 3 {
				t.Fatalf("%s: %d lines, %v", name, len(lines), err)
			}
			texts := 0
			for _, line := range lines {
				for _, c := range line {
					if strings.Contains(c, formula) {
						texts++
					}
					// A number may be negative.
					if c != "" && strings.ContainsRune("=+-@\t\r", rune(c[0])) && strings.Trim(c, "-.0123456789") != "" {
						t.Errorf("%s: a cell is %q", name, c)
					}
				}
			}
			if texts == 0 {
				t.Errorf("%s: no text of the run is in it", name)
			}
		}
	}
}

func TestTrialsHaveALineForEachMetricAndOneForAFailure(t *testing.T) {
	_, workers := sample("x")
	got := written(t, func(w io.Writer) error { return Trials(w, workers) })
	for _, want := range []string{
		"x,x,x,x,,a.r001,1,1,Measured,2023-11-14T22:13:20Z,,read.iops,1/s,1000,false,,\n",
		"x,x,x,x,,a.r002,1,1,Measured,2023-11-14T22:13:20Z,,read.iops,1/s,990,false,invalid: FromMemory,\n",
		"x,x,x,x,log,a.r001,1,1,Measured,2023-11-14T22:13:20Z,,write.bandwidth,bytes/s,4096,true,,\n",
		"x,x,x,,,a.r003,3,0,Failed,,,,,,false,,x\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no line %s in\n%s", want, got)
		}
	}
}

func TestComparisonsHaveRatiosAndDifferences(t *testing.T) {
	s, _ := sample("x")
	got := written(t, func(w io.Writer) error { return Comparisons(w, s) })
	if want := "x,x,x,x,x,x,read.iops,1/s,6,0,100,90,0.9,0.85,0.95,-10,-15,-5,control invalid: FromMemory; variant invalid: FromMemory\n"; !strings.Contains(got, want) {
		t.Errorf("there is no line %s in\n%s", want, got)
	}
}

func TestMarkdownShowsTextsAsTexts(t *testing.T) {
	plain, _ := sample("name")
	want := written(t, func(w io.Writer) error { return Markdown(w, plain) })
	for _, part := range []string{"### storagebench: `name/name`", "| `name` | `name` | `name[name].name` | `write` | 2 | 500 | 400–600 |", "invalid: FromMemory", "- **FromMemory** invalidates", "| 0.900 | 0.850–0.950 |", "- `name`: name"} {
		if !strings.Contains(want, part) {
			t.Errorf("%q is missing in\n%s", part, want)
		}
	}
	for _, attack := range []string{"@team", "fix #12", "<img src=x onerror=alert(1)>", "[click](javascript:alert(1))", "![x](http://evil/x.png)", "a|b|c", "a`b``c", "http://evil.example", "www.evil.example", "*bold*", "a\n# heading\n", "\u202eabc", "<!-- x", "a\\|b"} {
		s, _ := sample(attack)
		got := written(t, func(w io.Writer) error { return Markdown(w, s) })
		if strings.Count(got, "\n") != strings.Count(want, "\n") {
			t.Errorf("%q changes the lines of\n%s", attack, got)
		}
		for line := range strings.Lines(outsideCode(got)) {
			for _, bad := range []string{"@t", "#1", "<", "](", "://", "www.", "\u202e"} {
				if strings.Contains(escaped.ReplaceAllString(line, ""), bad) {
					t.Errorf("%q is in the prose of %q", bad, line)
				}
			}
		}
	}
}

// escaped is a character that is only itself.
var escaped = regexp.MustCompile(`\\[[:punct:]]`)

// outsideCode removes spans of code: what stands between equal runs of backquotes. A backslash
// escapes one outside of them.
func outsideCode(markdown string) string {
	var out strings.Builder
	for len(markdown) > 0 {
		switch {
		case markdown[0] == '\\' && len(markdown) > 1:
			out.WriteString(markdown[:2])
			markdown = markdown[2:]
		case markdown[0] == '`':
			run := len(markdown) - len(strings.TrimLeft(markdown, "`"))
			rest := markdown[run:]
			end := 0
			for {
				at := strings.Index(rest[end:], "`")
				if at < 0 {
					return out.String() + markdown // no span
				}
				end += at
				n := len(rest[end:]) - len(strings.TrimLeft(rest[end:], "`"))
				if n == run {
					markdown = rest[end+n:]
					break
				}
				end += n
			}
		default:
			out.WriteByte(markdown[0])
			markdown = markdown[1:]
		}
	}
	return out.String()
}

func TestJUnitHasACaseForEachNumber(t *testing.T) {
	for _, text := range []string{"name", `<failure/>"'&]]>` + "\x00\x1b"} {
		s, _ := sample(text)
		document := written(t, func(w io.Writer) error { return JUnit(w, s) })
		var got suites
		if err := xml.Unmarshal([]byte(document), &got); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if got.Tests != 3 || got.Failures != 1 || got.Errors != 1 || len(got.Suites) != 2 || len(got.Suites[0].Cases) != 2 {
			t.Fatalf("%q: %+v", text, got)
		}
		read, write := got.Suites[0].Cases[0], got.Suites[0].Cases[1]
		if read.Failure == nil || read.Failure.Type != "FromMemory" || write.Failure != nil || !strings.Contains(write.Out, "500 per second (95 % interval 400–600, n = 2)") {
			t.Errorf("%q: %+v\n%+v", text, read, write)
		}
	}
	s, _ := sample("name")
	s.Failures, s.Stored = nil, 1
	if document := written(t, func(w io.Writer) error { return JUnit(w, s) }); !strings.Contains(document, "1 of 3 trials were measured") {
		t.Errorf("missing trials are no error:\n%s", document)
	}
}

func TestBenchstatReadsEveryLine(t *testing.T) {
	for _, text := range []string{"rand-8", "Ünï code\n", "a/b=c d", "", "9"} {
		s, workers := sample(text)
		document := written(t, func(w io.Writer) error { return Benchstat(w, s, workers) })
		reader := benchfmt.NewReader(strings.NewReader(document), "test")
		lines := 0
		for reader.Scan() {
			switch r := reader.Result().(type) {
			case *benchfmt.Result:
				lines++
				if _, parts := r.Name.Parts(); strings.HasPrefix(string(parts[len(parts)-1]), "-") {
					t.Errorf("a name has a number of processors: %s", r.Name)
				}
				if v, ok := r.Value("IO/s"); ok && v != 1000 && v != 990 {
					t.Errorf("%s: %v", r.Name, v)
				}
			case *benchfmt.SyntaxError:
				t.Errorf("%q: %v", text, r)
			}
		}
		if reader.Err() != nil || lines != 6 { // two trials, each with reads, syncs and the part's writes
			t.Errorf("%q: %d lines, %v\n%s", text, lines, reader.Err(), document)
		}
		if !strings.Contains(document, "/verdict=FromMemory\t1\t990 IO/s") {
			t.Errorf("an invalid number stands alone:\n%s", document)
		}
	}
	s, _ := sample("x")
	if err := Benchstat(io.Discard, s, nil); !errors.Is(err, ErrNoTrials) {
		t.Errorf("without trials: %v", err)
	}
}

func TestWordsOfABenchmarksName(t *testing.T) {
	got := []string{benchWord("a b/c=d"), benchWord("seq-4"), benchWord("x--"), title("oltp"), title("4k"), title("")}
	if want := []string{"a-b-c-d", "seq_4", "x", "Oltp", "W4k", "Workload"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestJUnitHasACaseForEachComparisonThatIsDecided(t *testing.T) {
	for outcome, want := range map[string][3]int{"Better": {0, 0, 4}, "NoDifference": {0, 0, 4}, "Worse": {1, 0, 4}, "Inconclusive": {0, 1, 4}, "": {0, 0, 3}} {
		s, _ := sample("name")
		if s.Rows[0].Verdicts = nil; outcome != "" {
			s.Comparisons[0].Primary = &result.Decision{Metric: "read.iops", Outcome: outcome, Sentence: "10 % fewer"}
		}
		var got suites
		if err := xml.Unmarshal([]byte(written(t, func(w io.Writer) error { return JUnit(w, s) })), &got); err != nil {
			t.Fatal(err)
		}
		if counts := [3]int{got.Failures, got.Skipped, got.Tests}; counts != want {
			t.Errorf("%q: %v failures, skipped and tests, want %v", outcome, counts, want)
		}
	}
}

func TestJUnitHasACaseForEachGateBeforeAllOthers(t *testing.T) {
	for outcome, want := range map[result.GateOutcome][3]int{result.GateMet: {0, 0, 4}, result.GateMissed: {1, 0, 4}, result.GateInconclusive: {0, 1, 4}} {
		s, _ := sample("name")
		s.Rows[0].Verdicts = nil
		s.Gates = []result.Gate{{Target: "fast", Workload: "wal", Node: "a", Metric: "sync.latency.p99", Unit: result.Seconds, AtMost: true, Text: "10ms", Outcome: outcome, Sentence: "why"}}
		var got suites
		if err := xml.Unmarshal([]byte(written(t, func(w io.Writer) error { return JUnit(w, s) })), &got); err != nil {
			t.Fatal(err)
		}
		if counts := [3]int{got.Failures, got.Skipped, got.Tests}; counts != want || got.Suites[0].Cases[0].Name != "sync p99 at most 10ms" {
			t.Errorf("%s: %v failures, skipped and tests, want %v: %+v", outcome, counts, want, got.Suites[0])
		}
		if text := written(t, func(w io.Writer) error { return Markdown(w, s) }); !strings.Contains(text, "| "+string(outcome)+" | `fast/wal/a` | sync p99 | at most 10ms |") {
			t.Errorf("Markdown has no gate:\n%s", text)
		}
	}
}
