package stats

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func verdictOf(name string, effect result.Effect, op string) result.Verdict {
	return result.Verdict{Name: name, Effect: effect, Operation: op, Sentence: name + " of " + op + "."}
}

// judgedRow is the row of a worker whose trials have these verdicts.
func judgedRow(t *testing.T, trials ...[]result.Verdict) result.Row {
	t.Helper()
	worker := trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	p := &trial.Plan{Workloads: []trial.Workload{{Name: "w"}}, Trials: make([]trial.Trial, len(trials)), Workers: []trial.Worker{worker}}
	w := result.WorkerSummary{Worker: worker}
	for _, verdicts := range trials {
		w.Trials = append(w.Trials, result.TrialSummary{Trial: trial.Trial{Workload: "w"}, Outcome: result.Measured, Verdicts: verdicts})
	}
	// What a trial that failed is accused of is no matter of the numbers of the others.
	w.Trials = append(w.Trials, result.TrialSummary{Trial: trial.Trial{Workload: "w"}, Outcome: result.Failed, Verdicts: []result.Verdict{verdictOf("Failed", result.Invalidates, "")}})
	s := Summarize(p, []result.WorkerSummary{w}, time.Unix(0, 0))
	if len(s.Rows) != 1 {
		t.Fatalf("%d rows", len(s.Rows))
	}
	return s.Rows[0]
}

func TestARowHasTheVerdictsOfItsTrials(t *testing.T) {
	memory, some := verdictOf("FromMemory", result.Invalidates, "read"), verdictOf("FromMemory", result.Qualifies, "read")
	writes, limit := verdictOf("FromMemory", result.Qualifies, "write"), verdictOf("Throttled", result.Qualifies, "")
	for name, c := range map[string]struct {
		trials [][]result.Verdict
		want   string
	}{
		"none":                         {[][]result.Verdict{nil, nil}, ""},
		"one of three":                 {[][]result.Verdict{nil, {limit}, nil}, "Throttled Qualifies  1"},
		"all":                          {[][]result.Verdict{{limit}, {limit}, {limit}}, "Throttled Qualifies  3"},
		"operations are kept apart":    {[][]result.Verdict{{some, writes}, {writes}}, "FromMemory Qualifies read 1, FromMemory Qualifies write 2"},
		"one that invalidates is more": {[][]result.Verdict{{some}, {memory}, {some}}, "FromMemory Invalidates read 3"},
		"it stays so":                  {[][]result.Verdict{{memory}, {some}}, "FromMemory Invalidates read 2"},
		"those that invalidate first":  {[][]result.Verdict{{limit, writes}, {memory}}, "FromMemory Invalidates read 1, FromMemory Qualifies write 1, Throttled Qualifies  1"},
	} {
		var got []string
		for _, v := range judgedRow(t, c.trials...).Verdicts {
			got = append(got, fmt.Sprint(v.Name, " ", v.Effect, " ", v.Operation, " ", v.Trials))
			if want := verdictOf(v.Name, v.Effect, v.Operation).Sentence; v.Sentence != want {
				t.Errorf("%s: the sentence is %q, want %q", name, v.Sentence, want)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %q, want %q", name, strings.Join(got, ", "), c.want)
		}
	}
}

// In which order the trials ended does not matter.
func TestTheOrderOfTheTrialsDoesNotChangeARowsVerdicts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	describe := func(trials [][]result.Verdict) string {
		var text strings.Builder
		for _, v := range judgedRow(t, trials...).Verdicts {
			fmt.Fprintln(&text, v.Name, v.Effect, v.Operation, v.Trials)
		}
		return text.String()
	}
	for range 500 {
		trials := make([][]result.Verdict, 1+r.IntN(6))
		for i := range trials {
			for _, name := range []string{"FromMemory", "Throttled", "BackgroundIO"} {
				for _, op := range []string{"", "read", "write"} {
					if r.IntN(3) == 0 {
						trials[i] = append(trials[i], verdictOf(name, []result.Effect{result.Qualifies, result.Invalidates}[r.IntN(2)], op))
					}
				}
			}
		}
		want := describe(trials)
		shuffled := slices.Clone(trials)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := describe(shuffled); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// However many verdicts workers report, and however long, the run's summary stays small, and
// every number keeps what it is worth.
func TestVerdictsDoNotMakeASummaryLarge(t *testing.T) {
	const workers = 1000
	p, summary := wide(workers, 1)
	f := NewFold(p)
	for i := range workers {
		w := summary(i)
		for v := range 100 {
			forged := verdictOf(fmt.Sprint("V", v), result.Invalidates, "")
			forged.Sentence, forged.Evidence = strings.Repeat("x", 8000), result.Metrics{strings.Repeat("n", 200): {Unit: "bytes"}}
			w.Trials[0].Verdicts = append(w.Trials[0].Verdicts, forged)
		}
		if err := f.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	said, short := 0, 0
	for _, row := range f.Finish(time.Unix(0, 0)).Rows {
		if len(row.Verdicts) != maxRowVerdicts {
			t.Fatalf("a row has %d verdicts, want %d", len(row.Verdicts), maxRowVerdicts)
		}
		for _, v := range row.Verdicts {
			said += len(v.Sentence)
			if v.Sentence == shortened && v.Evidence == nil && v.Effect == result.Invalidates {
				short++
			}
		}
	}
	if said > maxVerdicts+workers*maxRowVerdicts*len(shortened) || short == 0 || short == workers*maxRowVerdicts {
		t.Errorf("they say %d bytes; %d are short", said, short)
	}
}

// A verdict on reads is none on a part that only writes, and a mixture that no row shows has none
// on operations.
func TestARowOfAPartHasTheVerdictsOnItsOperations(t *testing.T) {
	worker := trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	p := &trial.Plan{Workloads: []trial.Workload{{Name: "w"}}, Trials: make([]trial.Trial, 1), Workers: []trial.Worker{worker}}
	of := func(name string, parts ...string) result.Verdict {
		v := verdictOf(name, result.Qualifies, "")
		v.Parts = parts
		return v
	}
	number := func(op string) result.Metrics {
		return result.Metrics{op + ".iops": {Unit: result.PerSecond, Value: 1}}
	}
	w := result.WorkerSummary{Worker: worker, Trials: []result.TrialSummary{{
		Trial: trial.Trial{Workload: "w"}, Outcome: result.Measured, Metrics: result.Metrics{"device.read.count": {}},
		Parts: []result.PartSummary{
			{Name: "scan", Operations: []string{"read"}, Metrics: number("read")}, {Name: "log", Operations: []string{"write"}, Metrics: number("write")},
		},
		Verdicts: []result.Verdict{
			verdictOf("FromMemory", result.Invalidates, "read"), verdictOf("CPUThrottled", result.Qualifies, ""), of("DepthIgnored", "scan", ""), of("ToolErrors", "log"),
		},
	}}}
	want := map[string]string{"": "CPUThrottled DepthIgnored", "scan": "FromMemory CPUThrottled DepthIgnored", "log": "CPUThrottled ToolErrors"}
	rows := Summarize(p, []result.WorkerSummary{w}, time.Unix(0, 0)).Rows
	if len(rows) != len(want) {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		var names []string
		for _, v := range row.Verdicts {
			if names = append(names, v.Name); v.Parts != nil {
				t.Errorf("part %q has a verdict that names rows: %+v", row.Part, v)
			}
		}
		if got := strings.Join(names, " "); got != want[row.Part] {
			t.Errorf("part %q has %q, want %q", row.Part, got, want[row.Part])
		}
	}
}
