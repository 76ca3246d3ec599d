package stats

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/knee"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// answer says what a run answers: its gates if it has any, or else its comparisons, or else that it
// has measured. A number that a verdict invalidates answers nothing.
func (f *Fold) answer(s result.Summary) *result.Answer {
	a := &result.Answer{SpeaksFor: speaksFor(f.plan, s)}
	switch {
	case len(f.plan.Gates) > 0:
		a.Answer, a.Sentence = answerOfGates(s, f.gatesOf)
	case slices.ContainsFunc(s.Comparisons, hasOutcome):
		a.Answer, a.Sentence = answerOfComparisons(s.Comparisons)
	default:
		a.Answer, a.Sentence = result.JustMeasured, report.Headline(s)
		if invalid := invalidRows(s.Rows); len(invalid) > 0 {
			a.Answer, a.Sentence = result.Invalid, report.Headline(s)+"; invalid: "+strings.Join(invalid, ", ")
		}
	}
	if len(s.Rows) == 0 {
		a.Answer, a.Sentence = answerOfSearches(s)
	}
	return a
}

// answerOfSearches is the answer of a run without rows: its trials, if it has any, were probes.
func answerOfSearches(s result.Summary) (answer, sentence string) {
	searches := slices.DeleteFunc(slices.Clone(s.Sweeps), func(w result.Sweep) bool { return w.Knee == nil })
	if len(searches) == 0 || s.Stored == 0 {
		return result.Inconclusive, "no trial was measured"
	}
	decided := []string{string(knee.Found), string(knee.BelowRange), string(knee.AboveRange)}
	if slices.ContainsFunc(searches, func(w result.Sweep) bool { return !slices.Contains(decided, w.Knee.Outcome) }) {
		return result.Inconclusive, report.Headline(s)
	}
	return result.JustMeasured, report.Headline(s)
}

// answerOfGates: one that is missed decides, and all must be met.
func answerOfGates(s result.Summary, of map[result.GateOutcome]int) (answer, sentence string) {
	if len(s.Gates) == 0 {
		return result.Inconclusive, "no gate could be decided"
	}
	first := s.Gates[0] // sorted: it decides
	total := of[result.GateMet] + of[result.GateMissed] + of[result.GateInconclusive]
	sentence = first.Sentence
	if total > 1 {
		sentence += fmt.Sprintf(" (of %d gates %d are met, %d missed, %d not decided)", total, of[result.GateMet], of[result.GateMissed], of[result.GateInconclusive])
	}
	switch {
	case of[result.GateMissed] > 0:
		return result.NotQualified, sentence
	case slices.ContainsFunc(s.Gates, func(g result.Gate) bool { return len(g.InvalidatedBy) > 0 }):
		return result.Invalid, sentence
	case of[result.GateInconclusive] > 0:
		return result.Inconclusive, sentence
	case len(s.Failures) > 0 || s.Stored < s.Planned: // also of workers that have no document
		return result.Inconclusive, sentence + "; but the run did not measure everything"
	default:
		return result.Qualified, sentence
	}
}

func hasOutcome(c result.Comparison) bool { return c.Primary != nil }

// answerOfComparisons gives the sentence of the comparison that is the answer.
func answerOfComparisons(all []result.Comparison) (answer, sentence string) {
	answer = string(Answer(all))
	same, total := 0, 0
	for _, c := range all {
		if !hasOutcome(c) {
			continue
		}
		total++
		if c.Primary.Outcome == answer {
			if same++; same == 1 {
				sentence = c.Primary.Sentence
			}
		}
	}
	if total > 1 {
		sentence += fmt.Sprintf(" (%s in %d of %d comparisons)", answer, same, total)
	}
	return answer, sentence
}

// invalidRows names the verdicts that make the headline of a row worthless.
func invalidRows(rows []result.Row) []string {
	var names []string
	for _, row := range report.Shown(rows) {
		for _, metric := range report.Headlines(row.Operations, row.Metrics) {
			for _, name := range report.Invalid(row, metric) {
				if !slices.Contains(names, name) && len(names) < 8 {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// speaksFor says what was replicated: trials, on these targets and nodes, in this time.
func speaksFor(p *trial.Plan, s result.Summary) string {
	if len(s.Rows) == 0 {
		return ""
	}
	nodes, targets := []string{}, []string{}
	least, most := s.Rows[0].N, 0
	for _, row := range s.Rows {
		if !slices.Contains(nodes, row.Node) {
			nodes = append(nodes, row.Node)
		}
		if !slices.Contains(targets, row.Target) {
			targets = append(targets, row.Target)
		}
		least, most = min(least, row.N), max(most, row.N)
	}
	trials := fmt.Sprintf("%d trials", most)
	if least != most {
		trials = fmt.Sprintf("%d to %d trials", least, most)
	} else if most == 1 {
		trials = "1 trial"
	}
	text := trials + " on " + whatTargetsAre(p, targets) + " on " + listed(nodes, "nodes")
	if took := tookOf(s); took > 0 {
		text += ", within " + took.Round(time.Second).String()
	}
	if p.Volumes >= MinVolumes && len(targets) > 0 && p.Target(targets[0]).Generated {
		what := "this class"
		if len(targets) > 1 {
			what = "these classes"
		}
		return text + ": it speaks for volumes of " + what + "; other nodes and times may differ"
	}
	return text + "; other volumes, nodes and times may differ"
}

// whatTargetsAre describes targets: a volume that was made for the run stands for itself, not for
// its class.
func whatTargetsAre(p *trial.Plan, names []string) string {
	volumes := "one volume"
	if p.Volumes > 1 {
		volumes = fmt.Sprintf("%d volumes", p.Volumes)
	}
	if len(names) != 1 && p.Volumes > 1 && p.Target(names[0]).Generated {
		return fmt.Sprintf("%s of each of %d targets", volumes, len(names))
	}
	if len(names) != 1 {
		return fmt.Sprintf("each of %d targets", len(names))
	}
	at := slices.IndexFunc(p.Targets, func(t trial.Target) bool { return t.Name == names[0] })
	if at >= 0 && p.Targets[at].Source == trial.StorageClass {
		return volumes + " of class " + p.Targets[at].Ref
	}
	return "target " + names[0]
}

func listed(names []string, many string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%d %s", len(names), many)
	}
	return strings.Join(names, ", ")
}

// tookOf is the time from the start of the first attempt to the end of the run; 0: unknown.
func tookOf(s result.Summary) time.Duration {
	var first time.Time
	for _, attempts := range s.Attempts {
		for _, a := range attempts {
			if !a.StartedAt.IsZero() && (first.IsZero() || a.StartedAt.Before(first)) {
				first = a.StartedAt
			}
		}
	}
	if first.IsZero() || s.FinishedAt.Before(first) {
		return 0
	}
	return s.FinishedAt.Sub(first)
}
