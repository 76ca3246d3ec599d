package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/trial"
)

func plan() *trial.Plan {
	p := &trial.Plan{
		Schema: trial.PlanSchema, Benchmark: trial.Benchmark{Namespace: "lab", Name: "b", UID: "u"}, Run: "r1",
		Targets: []trial.Target{{Name: "fast"}}, Workloads: []trial.Workload{{Name: "w"}},
		Workers: []trial.Worker{{Name: "fast.a", Target: "fast", Node: "a"}},
	}
	for i := 1; i <= 3; i++ {
		p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprintf("w.r%03d", i), Workload: "w", Repeat: i})
	}
	return p
}

// measured is a worker's summary with two trials of three.
func measured(tb testing.TB) (p *trial.Plan, s *WorkerSummary) {
	tb.Helper()
	p = plan()
	s = NewWorkerSummary(p, p.Workers[0])
	h := &histogram.Histogram{}
	h.Add(1000, 5)
	for _, tr := range p.Trials[:2] {
		d := &Trial{Schema: TrialSchema, Trial: tr, Outcome: Measured, Attempt: 1, Measurement: Measurement{
			Metrics: Metrics{"read.rate": {Unit: PerSecond, Value: 5}}, Histograms: Histograms{"read": h}, Operations: []string{"read"},
		}}
		s.Fold(d, Object{Key: "k", Bytes: 1, Digest: "sha256:x"})
	}
	s.Attempts = append(s.Attempts, Attempt{Number: 1, Host: "h", StartedAt: time.Unix(0, 0).UTC()})
	s.Failure = &trial.Failure{Class: reason.TimedOut, Message: "m"}
	return p, s
}

func encoded(tb testing.TB, document any) []byte {
	tb.Helper()
	b, err := json.Marshal(document)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestAWorkersSummaryIsReadBack(t *testing.T) {
	p, s := measured(t)
	document := encoded(t, s)
	back, err := DecodeWorkerSummary(document, trial.Digest(document))
	if err == nil {
		err = back.CheckWorker(p, p.Workers[0])
	}
	if err != nil || !bytes.Equal(encoded(t, back), document) {
		t.Errorf("%v\n%s\n%s", err, encoded(t, back), document)
	}
}

func TestAForgedSummaryIsRejected(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", 100_000)
	for name, c := range map[string]struct {
		change func(s *WorkerSummary)
		raw    func(document string) string
		want   string
	}{
		"nothing":              {raw: func(string) string { return "" }, want: "unexpected end"},
		"half of it":           {raw: func(d string) string { return d[:len(d)/2] }, want: "unexpected end"},
		"another behind it":    {raw: func(d string) string { return d + d }, want: "after its end"},
		"a deep nesting":       {raw: func(string) string { return deep }, want: "nested deeper"},
		"a list for an object": {raw: func(string) string { return deep[5:] }, want: "\"[\" where an object belongs"},
		"a number for a trial": {raw: func(string) string { return `{"trials":[0]}` }, want: "\"0\" where an object belongs"},
		"a text for a list":    {raw: func(string) string { return `{"Trials":""}` }, want: "where a list belongs"},
		"many small values":    {raw: func(string) string { return `{"a":[` + strings.Repeat("0,", maxValues) + `0]}` }, want: "more than"},
		"a long text":          {raw: func(string) string { return `{"a":"` + strings.Repeat("x", maxText+1) + `"}` }, want: "strings has"},
		"a long number":        {raw: func(string) string { return `{"a":` + strings.Repeat("1", 1000) + `}` }, want: "numbers has"},
		"too large":            {raw: func(d string) string { return d + strings.Repeat(" ", MaxWorkerSummary) }, want: "the limit is 16777216"},
		"a number beyond all":  {raw: func(d string) string { return strings.Replace(d, `"value":5`, `"value":1e999`, 1) }, want: "1e999"},
		"counts that overflow": {raw: func(d string) string {
			return strings.Replace(d, "[[1004,10]]", "[[1004,18446744073709551615],[2008,1]]", 1)
		}, want: "overflow"},
		"not UTF-8":                {raw: func(d string) string { return strings.Replace(d, `"lab"`, "\"\xff\"", 1) }, want: "UTF-8"},
		"another schema":           {change: func(s *WorkerSummary) { s.Schema = TrialSchema }, want: "its schema is"},
		"a class of 65 characters": {change: func(s *WorkerSummary) { s.Failure.Class = trial.Class("A" + strings.Repeat("a", 64)) }, want: "is not a valid reason"},
		"a class of a trial":       {change: func(s *WorkerSummary) { s.Trials[0].Failure = &trial.Failure{Class: "no class"} }, want: "is not a valid reason"},
		"a class that is none":     {change: func(s *WorkerSummary) { s.Failure.Class = "" }, want: "is not a valid reason"},
		"more trials than planned": {change: func(s *WorkerSummary) { s.Planned = 1 }, want: "2 of 1 planned trials"},
		"negative counts":          {change: func(s *WorkerSummary) { s.Planned = -1 }, want: "of -1"},
		"a trial twice":            {change: func(s *WorkerSummary) { s.Trials[1] = s.Trials[0] }, want: "appears twice"},
		"a workload twice":         {change: func(s *WorkerSummary) { s.Workloads = append(s.Workloads, s.Workloads[0]) }, want: "appears twice"},
		"an outcome":               {change: func(s *WorkerSummary) { s.Trials[0].Outcome = "Won" }, want: "outcome"},
		"a long name":              {change: func(s *WorkerSummary) { s.Trials[0].Workload = strings.Repeat("w", 300) }, want: "names has"},
		"an operation":             {change: func(s *WorkerSummary) { s.Trials[0].Operations = []string{"re\nad"} }, want: "operation"},
		"an operation's histogram": {change: func(s *WorkerSummary) { s.Workloads[0].Histograms["\x00"] = nil }, want: "operation"},
		"many metrics": {change: func(s *WorkerSummary) {
			for i := range maxMetrics {
				s.Trials[0].Metrics[fmt.Sprint(i)] = Metric{}
			}
		}, want: "513 metrics"},
		"many tunables": {change: func(s *WorkerSummary) { s.Trials[0].Tunables = make([]Tunable, maxTunables+1) }, want: "65 tunables"},
		"a tunable's long text": {change: func(s *WorkerSummary) {
			s.Trials[0].Tunables = []Tunable{{Name: "t", Restoring: strings.Repeat("x", maxSentence+1)}}
		}, want: "a text of tunable"},
		"a part that controls the terminal": {change: func(s *WorkerSummary) {
			s.Trials[0].Parts = []PartSummary{{Name: "a\x1b[2J", Operations: []string{"read"}}}
		}, want: "invalid or appears twice"},
		"a part twice": {change: func(s *WorkerSummary) {
			s.Trials[0].Parts = []PartSummary{{Name: "a"}, {Name: "a"}}
		}, want: "invalid or appears twice"},
		"an operation of a part": {change: func(s *WorkerSummary) {
			s.Trials[0].Parts = []PartSummary{{Name: "a", Operations: []string{"re\nad"}}}
		}, want: "operation"},
		"many parts": {change: func(s *WorkerSummary) { s.Trials[0].Parts = make([]PartSummary, MaxRowParts+1) }, want: "33 of its parts"},
		"other parts in each trial": {change: func(s *WorkerSummary) {
			s.Planned = 3
			for i := range 3 {
				tr := s.Trials[0]
				tr.ID, tr.Parts = fmt.Sprint(i), nil
				for j := range MaxRowParts {
					tr.Parts = append(tr.Parts, PartSummary{Name: fmt.Sprint("p", i, "-", j)})
				}
				s.Trials = append(s.Trials[:i], tr)
			}
		}, want: "more than 64 parts"},
		"a part's histograms twice": {change: func(s *WorkerSummary) {
			s.Workloads = append(s.Workloads, WorkloadPool{Cell: s.Workloads[0].Cell, Part: "a"}, WorkloadPool{Cell: s.Workloads[0].Cell, Part: "a"})
		}, want: "appears twice"},
		"a large environment": {change: func(s *WorkerSummary) { s.Environment = &Environment{Kernel: strings.Repeat("k", maxEnvironment)} }, want: "environment"},
	} {
		_, s := measured(t)
		if c.change != nil {
			c.change(s)
		}
		document := encoded(t, s)
		if c.raw != nil {
			document = []byte(c.raw(string(document)))
		}
		_, err := DecodeWorkerSummary(document, trial.Digest(document))
		refused, ok := errors.AsType[*RejectedError](err)
		if !ok || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 || refused.Failure().Class != reason.ResultsRejected {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

func TestADigestIsComparedBeforeAnythingIsDecoded(t *testing.T) {
	if _, err := DecodeWorkerSummary([]byte("{"), "sha256:other"); err == nil || !strings.Contains(err.Error(), "receipt expects sha256:other") {
		t.Errorf("got %v", err)
	}
}

func TestASummaryMustBeThatOfItsWorker(t *testing.T) {
	for name, change := range map[string]func(s *WorkerSummary){
		"another run":        func(s *WorkerSummary) { s.Run = "r2" },
		"another worker":     func(s *WorkerSummary) { s.Worker.Name = "fast.b" },
		"another benchmark":  func(s *WorkerSummary) { s.Benchmark.UID = "v" },
		"another count":      func(s *WorkerSummary) { s.Planned = 4 },
		"a trial of nobody":  func(s *WorkerSummary) { s.Trials[0].ID = "x.r001" },
		"a workload of none": func(s *WorkerSummary) { s.Workloads[0].Workload = "x" },
	} {
		p, s := measured(t)
		change(s)
		if _, ok := errors.AsType[*RejectedError](s.CheckWorker(p, p.Workers[0])); !ok {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestTextsOfAFailureAreCut(t *testing.T) {
	_, s := measured(t)
	s.Failure.Message, s.Trials[0].Failure = strings.Repeat("é", 5000), &trial.Failure{Class: reason.NoSpace, Remedy: strings.Repeat("x", 5000)}
	back, err := DecodeWorkerSummary(encoded(t, s), "")
	if err != nil || len(back.Failure.Message) > 2100 || len(back.Trials[0].Failure.Remedy) > 600 {
		t.Errorf("%v, %d, %d", err, len(back.Failure.Message), len(back.Trials[0].Failure.Remedy))
	}
}

func TestAnEnvironmentThatIsTooLargeIsSaidToBe(t *testing.T) {
	_, s := measured(t)
	s.Environment = &Environment{Tools: map[string]string{"fio": strings.Repeat("x", maxEnvironment)}}
	if _, err := DecodeWorkerSummary(encoded(t, s), ""); err == nil || !strings.Contains(err.Error(), "its environment has") || strings.Contains(err.Error(), "%!") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecodeWorkerSummary(f *testing.F) {
	p, s := measured(f)
	f.Add(encoded(f, s))
	f.Add([]byte(`{"schema":"storagebench.io/worker.v1","planned":1,"trials":[{"id":"a","outcome":"Failed"}],"workloads":null}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		s, err := DecodeWorkerSummary(document, "")
		if err != nil {
			if _, ok := errors.AsType[*RejectedError](err); !ok {
				t.Fatalf("not a rejection: %v", err)
			}
			return
		}
		_ = s.CheckWorker(p, p.Workers[0])
		s.Sort(p.Trials)
		encoded(t, s)
	})
}

func FuzzDecodeTrial(f *testing.F) {
	p := plan()
	f.Add(encoded(f, Trial{Schema: TrialSchema, Benchmark: p.Benchmark, Run: "r1", Worker: p.Workers[0], Trial: p.Trials[0], Outcome: Measured}))
	f.Fuzz(func(t *testing.T, document []byte) {
		d, err := DecodeTrial(document, "")
		if err != nil {
			if _, ok := errors.AsType[*RejectedError](err); !ok {
				t.Fatalf("not a rejection: %v", err)
			}
			return
		}
		d.BelongsTo(p, p.Workers[0], p.Trials[0])
		NewWorkerSummary(p, p.Workers[0]).Fold(d, Object{})
		encoded(t, d)
	})
}
