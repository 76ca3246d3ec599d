package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
)

func TestQualifiedIsWhatTheGatesShow(t *testing.T) {
	running := &v1alpha1.RunStatus{}
	ended := &v1alpha1.RunStatus{FinishedAt: new(metav1.NewTime(time.Unix(100, 0)))}
	failed := &v1alpha1.RunStatus{FinishedAt: ended.FinishedAt, Failures: []v1alpha1.WorkerFailure{{Worker: WholeRun, Reason: reason.ResultsNotStored}}}
	for name, c := range map[string]struct {
		run    *v1alpha1.RunStatus
		gates  int
		answer string
		want   metav1.ConditionStatus
		reason string
	}{
		"no gates":                 {ended, 0, result.JustMeasured, "", ""},
		"no run yet":               {nil, 1, "", metav1.ConditionUnknown, reason.Running},
		"a run that goes on":       {running, 1, "", metav1.ConditionUnknown, reason.Running},
		"met":                      {ended, 1, result.Qualified, metav1.ConditionTrue, reason.GatesMet},
		"missed":                   {ended, 1, result.NotQualified, metav1.ConditionFalse, reason.GateMissed},
		"open":                     {ended, 1, result.Inconclusive, metav1.ConditionUnknown, reason.GatesNotDecided},
		"worthless":                {ended, 1, result.Invalid, metav1.ConditionUnknown, reason.NumbersInvalid},
		"a run without a summary":  {failed, 2, "", metav1.ConditionUnknown, reason.GatesNotDecided},
		"a run that failed partly": {failed, 1, result.NotQualified, metav1.ConditionFalse, reason.GateMissed},
	} {
		t.Run(name, func(t *testing.T) {
			s := &v1alpha1.StorageBenchmarkStatus{Run: c.run.DeepCopy()}
			if c.answer != "" {
				s.Answer = &v1alpha1.AnswerStatus{Answer: c.answer, Sentence: "why"}
			}
			o := Outcome{}
			if c.run == nil || c.run.FinishedAt == nil {
				o = Underway(reason.Running, "measuring", 0)
			}
			Summarize(s, Pass{Generation: 1, Now: time.Unix(200, 0), Outcome: o, Gates: c.gates})
			got := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionQualified)
			switch {
			case got == nil && c.want != "":
				t.Errorf("there is no condition, want %s/%s", c.want, c.reason)
			case got != nil && (got.Status != c.want || got.Reason != c.reason):
				t.Errorf("%s/%s, want %s/%s", got.Status, got.Reason, c.want, c.reason)
			}
		})
	}
}

func TestGatesInAStatusAreBounded(t *testing.T) {
	value := 0.0128
	gate := result.Gate{
		Target: "t", Node: "n", Workload: "w", Metric: "sync.latency.p99", Unit: result.Seconds, Limit: 0.01, AtMost: true, Text: "10ms", N: 6,
		Value: &value, Low: new(0.0119), High: new(0.0136), Outcome: result.GateMissed, Sentence: strings.Repeat("x", 2000),
		InvalidatedBy: make([]string, 100),
	}
	s := result.Summary{Answer: &result.Answer{Answer: result.NotQualified, Sentence: strings.Repeat("y", 2000)}}
	for range 100 {
		s.Gates = append(s.Gates, gate)
	}
	status := &v1alpha1.StorageBenchmarkStatus{}
	Summary(status, s)
	if len(status.Gates) != MaxGates || len(status.Gates[0].Message) > 512 || len(status.Gates[0].InvalidatedBy) > 8 || len(status.Answer.Sentence) > 512 {
		t.Errorf("%d gates, a message of %d bytes, %d verdicts, a sentence of %d bytes", len(status.Gates), len(status.Gates[0].Message), len(status.Gates[0].InvalidatedBy), len(status.Answer.Sentence))
	}
	g := status.Gates[0]
	if g.Limit != "at most 10ms" || g.Value.String() != "12800u" || g.High.String() != "13600u" {
		t.Errorf("limit %q, value %s, high %s", g.Limit, g.Value, g.High)
	}
	if want := "sync p99 12.8ms (11.9ms–13.6ms), gate ≤ 10ms"; !strings.HasPrefix(status.Headline, want) {
		t.Errorf("the headline is %q, want %q", status.Headline, want)
	}
	if back := Gates(*status); len(back) != MaxGates || back[0].Outcome != result.GateMissed || Answer(*status).Answer != result.NotQualified {
		t.Errorf("read back: %+v", back[0])
	}
	Summary(status, result.Summary{})
	if status.Gates != nil || status.Answer != nil {
		t.Error("another run's gates stay")
	}
}
