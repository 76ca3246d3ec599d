package qualify

import (
	"fmt"
	"strings"
	"time"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
)

// Answer is what a qualification found, for people and for programs.
type Answer struct {
	Purpose      string `json:"purpose"`
	StorageClass string `json:"storageClass"`
	Namespace    string `json:"namespace"`
	Name         string `json:"name"`
	Answer       string `json:"answer"`
	Sentence     string `json:"sentence"`
	SpeaksFor    string `json:"speaksFor,omitempty"`
	Trials       int    `json:"trials"`
	Seconds      int    `json:"seconds"`
	// Gates as in the benchmark's status.
	Gates []v1alpha1.GateStatus `json:"gates"`
	// Sources of the limits, those that decide first.
	Sources []Source `json:"sources"`
	// Verdicts on the numbers.
	Verdicts []v1alpha1.VerdictSummary `json:"verdicts,omitempty"`
	// Kept: the benchmark is still there.
	Kept bool `json:"kept"`
}

// Source of a limit, and what was found of it.
type Source struct {
	Metric string `json:"metric"`
	Limit  string `json:"limit"`
	Who    string `json:"who"`
	Source string `json:"source"`
	// Decides reports that the answer hangs on it.
	Decides bool `json:"decides"`
	// Outcome of one that does not decide: met, missed, or open.
	Outcome string `json:"outcome,omitempty"`
}

// Of returns the answer of a benchmark that has ended.
func Of(a Ask, b *v1alpha1.StorageBenchmark, limitOf func(text, metric string) (float64, error)) Answer {
	out := Answer{
		Purpose: a.Purpose.Name, StorageClass: a.StorageClass, Namespace: b.Namespace, Name: b.Name, Kept: a.Keep,
		Answer: result.Inconclusive, Sentence: "the run ended without a summary", Gates: b.Status.Gates,
	}
	if answer := b.Status.Answer; answer != nil {
		out.Answer, out.Sentence, out.SpeaksFor = answer.Answer, answer.Sentence, answer.SpeaksFor
	}
	if run := b.Status.Run; run != nil {
		out.Trials = int(run.TrialsStored)
		if run.StartedAt != nil && run.FinishedAt != nil {
			out.Seconds = int(run.FinishedAt.Sub(run.StartedAt.Time).Round(time.Second).Seconds())
		}
	}
	for _, l := range a.Purpose.Decides {
		out.Sources = append(out.Sources, Source{Metric: l.Metric, Limit: l.Text(), Who: l.Who, Source: l.Source, Decides: true})
	}
	for _, l := range a.Purpose.Others {
		out.Sources = append(out.Sources, Source{Metric: l.Metric, Limit: l.Text(), Who: l.Who, Source: l.Source, Outcome: outcomeOf(l, b.Status.Gates, limitOf)})
	}
	seen := map[string]bool{}
	for _, row := range b.Status.Summary {
		for _, v := range row.Verdicts {
			if key := v.Name + v.Message; !seen[key] {
				seen[key], out.Verdicts = true, append(out.Verdicts, v)
			}
		}
	}
	return out
}

// outcomeOf compares a limit that does not decide with the intervals of the gates of its metric.
func outcomeOf(l Limit, gates []v1alpha1.GateStatus, limitOf func(text, metric string) (float64, error)) string {
	limit, err := limitOf(l.Max+l.Min, l.Metric)
	if err != nil {
		return "open"
	}
	outcome := "open"
	for _, g := range gates {
		if g.Metric != l.Metric || l.Part != "" && g.Part != l.Part || g.Low == nil || g.High == nil || len(g.InvalidatedBy) > 0 {
			continue
		}
		low, high := g.Low.AsApproximateFloat64(), g.High.AsApproximateFloat64()
		switch {
		case l.Max != "" && low > limit, l.Max == "" && high < limit:
			return "missed"
		case l.Max != "" && high <= limit, l.Max == "" && low >= limit:
			outcome = "met"
		default:
			return "open"
		}
	}
	return outcome
}

// words of answers, as a title.
var words = map[string]string{
	result.Qualified: "QUALIFIED", result.NotQualified: "NOT QUALIFIED", result.Invalid: "INVALID: the numbers do not show what the storage does,",
	result.Inconclusive: "INCONCLUSIVE",
}

// Text is the answer for people.
func (a Answer) Text() string {
	word := words[a.Answer]
	if word == "" {
		word = strings.ToUpper(a.Answer)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %s on class %s (%d trials, %s)\n", word, a.Purpose, a.StorageClass, a.Trials, time.Duration(a.Seconds)*time.Second)
	if len(a.Gates) == 0 {
		fmt.Fprintf(&b, "  %s\n", a.Sentence)
	}
	for _, g := range a.Gates {
		name := ""
		if g.Part != "" {
			name = g.Part + ": "
		}
		fmt.Fprintf(&b, "  %s%s: %s\n", name, strings.ToLower(g.Outcome), g.Message)
	}
	for _, s := range a.Sources {
		outcome := ""
		if !s.Decides {
			outcome = ", " + s.Outcome
		}
		fmt.Fprintf(&b, "  %s %s: %s%s (%s)\n", s.Metric, s.Limit, s.Who, outcome, s.Source)
	}
	for _, v := range a.Verdicts {
		fmt.Fprintf(&b, "  verdict %s %s: %s\n", v.Name, strings.ToLower(v.Effect), v.Message)
	}
	if a.SpeaksFor != "" {
		fmt.Fprintf(&b, "  speaks for: %s\n", a.SpeaksFor)
	}
	if a.Kept {
		fmt.Fprintf(&b, "  see: storagebench get %s -n %s\n", a.Name, a.Namespace)
	}
	return b.String()
}
