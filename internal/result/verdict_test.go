package result

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

func sound() Verdict {
	return Verdict{
		Name: "FromMemory", Effect: Invalidates, Operation: "read.char", Sentence: "All of it came from memory.", Settle: "Use direct=1.",
		Evidence: Metrics{"share": {Unit: Ratio, Value: 1}},
	}
}

// A worker's documents are whatever a tenant uploads.
func TestVerdictsThatAreNotWellFormedAreRejected(t *testing.T) {
	for name, c := range map[string]struct {
		change func(v *Verdict)
		want   string // "": they are accepted
	}{
		"sound":                   {func(*Verdict) {}, ""},
		"of the whole trial":      {func(v *Verdict) { v.Operation = "" }, ""},
		"without evidence":        {func(v *Verdict) { v.Evidence, v.Settle = nil, "" }, ""},
		"a path in a sentence":    {func(v *Verdict) { v.Sentence = strings.Repeat("p", maxSentence) }, ""},
		"no effect":               {func(v *Verdict) { v.Effect = "" }, "the effect of a verdict"},
		"another effect":          {func(v *Verdict) { v.Effect = "Praises" }, `is "Praises", expected Invalidates or Qualifies`},
		"no name":                 {func(v *Verdict) { v.Name = "" }, "invalid name"},
		"a name of two lines":     {func(v *Verdict) { v.Name = "From\nMemory" }, "invalid name"},
		"a long name":             {func(v *Verdict) { v.Name = strings.Repeat("N", 65) }, "invalid name"},
		"an operation":            {func(v *Verdict) { v.Operation = "\x1b[2J" }, "operation"},
		"a long sentence":         {func(v *Verdict) { v.Sentence = strings.Repeat("p", maxSentence+1) }, "a sentence of verdict"},
		"long advice":             {func(v *Verdict) { v.Settle = strings.Repeat("p", maxSentence+1) }, "a sentence of verdict"},
		"a sentence of two lines": {func(v *Verdict) { v.Sentence = "It is fine.\nREAL  a  b  9999" }, "cannot be printed"},
		"one for the terminal":    {func(v *Verdict) { v.Sentence = "\x1b]0;owned\a" }, "cannot be printed"},
		"advice for the terminal": {func(v *Verdict) { v.Settle = "\x1b[2J" }, "cannot be printed"},
		"of some rows":            {func(v *Verdict) { v.Parts = []string{"", "a", "a + b"} }, ""},
		"of many rows":            {func(v *Verdict) { v.Parts = make([]string, MaxRowParts+2) }, "names too many parts"},
		"of no row":               {func(v *Verdict) { v.Parts = []string{"a\nb"} }, "that no part can have"},
		"another language":        {func(v *Verdict) { v.Sentence = "Das ist der Cache – 90 %." }, ""},
		"much evidence":           {func(v *Verdict) { v.Evidence = numbers(maxOperations + 1) }, "17 numbers of evidence"},
		"evidence with a name":    {func(v *Verdict) { v.Evidence = Metrics{strings.Repeat("n", maxName+1): {}} }, "too long"},
		"evidence with a unit":    {func(v *Verdict) { v.Evidence = Metrics{"share": {Unit: strings.Repeat("u", 33)}} }, "too long"},
		"as much as is allowed":   {func(v *Verdict) { v.Evidence = numbers(maxOperations) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := sound()
			c.change(&v)
			_, s := measured(t)
			s.Trials[1].Verdicts = []Verdict{sound(), v}
			document := encoded(t, s)
			back, err := DecodeWorkerSummary(document, trial.Digest(document))
			expect(t, "summary", err, c.want)
			if err == nil && !reflect.DeepEqual(back.Trials[1].Verdicts, s.Trials[1].Verdicts) {
				t.Errorf("read back: %+v", back.Trials[1].Verdicts)
			}

			d := &Trial{Schema: TrialSchema, Trial: s.Trials[0].Trial, Outcome: Measured, Attempt: 1}
			d.Verdicts = []Verdict{v}
			document = encoded(t, d)
			_, err = DecodeTrial(document, trial.Digest(document))
			expect(t, "trial", err, c.want)
		})
	}
}

func expect(t *testing.T, what string, err error, want string) {
	t.Helper()
	_, rejected := errors.AsType[*RejectedError](err)
	if want == "" && err != nil || want != "" && (!rejected || !strings.Contains(err.Error(), want)) || err != nil && len(err.Error()) > 1000 {
		t.Errorf("%s: %v; want %q", what, err, want)
	}
}

func numbers(n int) Metrics {
	m := Metrics{}
	for i := range n {
		m.Set(fmt.Sprint(i), Count, 1)
	}
	return m
}

func TestTooManyVerdictsAreRejected(t *testing.T) {
	_, s := measured(t)
	for range MaxVerdicts {
		s.Trials[0].Verdicts = append(s.Trials[0].Verdicts, sound())
	}
	document := encoded(t, s)
	_, err := DecodeWorkerSummary(document, trial.Digest(document))
	expect(t, "as many as are allowed", err, "")
	s.Trials[0].Verdicts = append(s.Trials[0].Verdicts, sound())
	document = encoded(t, s)
	_, err = DecodeWorkerSummary(document, trial.Digest(document))
	expect(t, "one more", err, "it has 257 verdicts, the limit is 256")
}

// The verdicts of a trial that was measured are in its worker's summary, and those of one that
// failed only in its own document.
func TestASummaryHasTheVerdictsOfMeasuredTrials(t *testing.T) {
	p := plan()
	s := NewWorkerSummary(p, p.Workers[0])
	for i, outcome := range []Outcome{Measured, Failed} {
		s.Fold(&Trial{Trial: p.Trials[i], Outcome: outcome, Measurement: Measurement{Verdicts: []Verdict{sound()}}}, Object{})
	}
	if len(s.Trials[0].Verdicts) != 1 || s.Trials[1].Verdicts != nil {
		t.Errorf("%+v", s.Trials)
	}
}

// Of the rows of many jobs, a summary says what is said again only once.
func TestASummarySaysVerdictsOfJobsOnce(t *testing.T) {
	p := plan()
	s := NewWorkerSummary(p, p.Workers[0])
	of := func(effect Effect, parts ...string) Verdict {
		v := sound()
		v.Effect, v.Parts = effect, parts
		return v
	}
	for i, v := range []Verdict{of(Qualifies, "a"), of(Qualifies, "a"), of(Invalidates, "a"), of(Invalidates, "b")} {
		tr := p.Trials[0]
		tr.ID = fmt.Sprint(i)
		s.Fold(&Trial{Trial: tr, Outcome: Measured, Measurement: Measurement{Verdicts: []Verdict{v, sound()}}}, Object{})
	}
	for i, whole := range []bool{true, false, true, true} {
		first, second := s.Trials[i].Verdicts[0], s.Trials[i].Verdicts[1]
		if (first.Sentence != "") != whole || (first.Evidence != nil) != whole || second.Sentence == "" {
			t.Errorf("trial %d: %+v, %+v", i, first, second)
		}
	}
}
