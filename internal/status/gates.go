package status

import (
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// MaxGates is the number of gates in a status: about half a KiB each.
const MaxGates = 64

// setGates writes the gates and the answer of a summary.
func setGates(status *v1alpha1.StorageBenchmarkStatus, s result.Summary) {
	status.Gates, status.Answer = nil, nil
	for _, g := range s.Gates[:min(len(s.Gates), MaxGates)] {
		out := v1alpha1.GateStatus{
			Target: g.Target, Node: g.Node, Workload: g.Workload, Variant: g.Variant, Part: g.Part, Metric: g.Metric,
			Limit: Shorten(report.GateLimit(g), 288), Outcome: string(g.Outcome), Message: Shorten(g.Sentence, 512),
			InvalidatedBy: g.InvalidatedBy[:min(len(g.InvalidatedBy), MaxVerdicts)],
			MoreTrials:    int32(min(max(g.MoreTrials, 0), math.MaxInt32)),
		}
		if g.Value != nil {
			out.Value = new(quantity(*g.Value))
		}
		if g.Low != nil && g.High != nil {
			out.Low, out.High = new(quantity(*g.Low)), new(quantity(*g.High))
		}
		status.Gates = append(status.Gates, out)
	}
	if a := s.Answer; a != nil {
		status.Answer = &v1alpha1.AnswerStatus{Answer: a.Answer, Sentence: Shorten(a.Sentence, 512), SpeaksFor: Shorten(a.SpeaksFor, 512)}
	}
	if headline := report.GateHeadline(s); headline != "" {
		status.Headline = Shorten(headline, 256)
	}
}

// Gates converts a status's gates to those of a summary, for package report.
func Gates(status v1alpha1.StorageBenchmarkStatus) []result.Gate {
	var all []result.Gate
	for _, g := range status.Gates {
		limit, atMost := strings.CutPrefix(g.Limit, "at most ")
		gate := result.Gate{
			Target: g.Target, Node: g.Node, Workload: g.Workload, Variant: g.Variant, Part: g.Part, Metric: g.Metric, Unit: result.UnitOf(g.Metric),
			Text: strings.TrimPrefix(limit, "at least "), AtMost: atMost,
			Outcome: result.GateOutcome(g.Outcome), InvalidatedBy: g.InvalidatedBy, MoreTrials: int(g.MoreTrials), Sentence: g.Message,
		}
		for _, n := range []struct {
			from *resource.Quantity
			to   **float64
		}{{g.Value, &gate.Value}, {g.Low, &gate.Low}, {g.High, &gate.High}} {
			if n.from != nil {
				*n.to = new(n.from.AsApproximateFloat64())
			}
		}
		all = append(all, gate)
	}
	return all
}

// Answer converts a status's answer to that of a summary, or returns nil.
func Answer(status v1alpha1.StorageBenchmarkStatus) *result.Answer {
	if a := status.Answer; a != nil {
		return &result.Answer{Answer: a.Answer, Sentence: a.Sentence, SpeaksFor: a.SpeaksFor}
	}
	return nil
}

// setQualified sets the condition Qualified of a benchmark with gates: what its run has answered,
// or that it has not ended. It says nothing of whether the run went well.
func setQualified(w writer, p Pass) {
	run, answer := w.status.Run, w.status.Answer
	switch {
	case p.Gates == 0:
		w.unset(v1alpha1.ConditionQualified)
	case run == nil || run.FinishedAt == nil || p.Outcome.Reason != "" && run.Generation != p.Generation:
		// The answer that is there is of another spec, or there is none.
		w.set(v1alpha1.ConditionQualified, metav1.ConditionUnknown, reason.Running, fmt.Sprintf("the run has not ended; it decides %s", Count(int32(p.Gates), "gate")))
	case answer == nil:
		w.set(v1alpha1.ConditionQualified, metav1.ConditionUnknown, reason.GatesNotDecided, "the run ended without a summary")
	case answer.Answer == result.Qualified:
		w.set(v1alpha1.ConditionQualified, metav1.ConditionTrue, reason.GatesMet, answer.Sentence)
	case answer.Answer == result.NotQualified:
		w.set(v1alpha1.ConditionQualified, metav1.ConditionFalse, reason.GateMissed, answer.Sentence)
	case answer.Answer == result.Regression:
		w.set(v1alpha1.ConditionQualified, metav1.ConditionFalse, reason.Regression, answer.Sentence)
	case answer.Answer == result.Invalid:
		w.set(v1alpha1.ConditionQualified, metav1.ConditionUnknown, reason.NumbersInvalid, answer.Sentence)
	default:
		w.set(v1alpha1.ConditionQualified, metav1.ConditionUnknown, reason.GatesNotDecided, answer.Sentence)
	}
}
