package status

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func TestARunIsTheBaselineOfLaterOnesIfItMayBe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*result.Summary)
		want   string
	}{
		"without gates": {func(*result.Summary) {}, "new"},
		"qualified": {func(s *result.Summary) {
			s.Gates, s.Answer = make([]result.Gate, 1), &result.Answer{Answer: result.Qualified}
		}, "new"},
		"not qualified": {func(s *result.Summary) {
			s.Gates, s.Answer = make([]result.Gate, 1), &result.Answer{Answer: result.NotQualified}
		}, "old"},
		"undecided gates": {func(s *result.Summary) {
			s.Gates, s.Answer = make([]result.Gate, 1), &result.Answer{Answer: "Inconclusive"}
		}, "old"},
		"invalid":          {func(s *result.Summary) { s.Answer = &result.Answer{Answer: result.Invalid} }, "old"},
		"a worker failed":  {func(s *result.Summary) { s.Failures = map[string]*trial.Failure{"w": {}} }, "old"},
		"nothing measured": {func(s *result.Summary) { s.Rows = nil }, "old"},
		"a regression":     {func(s *result.Summary) { s.Baseline = &result.Baseline{Outcome: "Regression"} }, "old"},
		"undecided noise":  {func(s *result.Summary) { s.Baseline = &result.Baseline{Outcome: "Inconclusive"} }, "new"},
		"a lost baseline": {func(s *result.Summary) {
			s.Baseline = &result.Baseline{Outcome: "Inconclusive", Lost: true}
		}, "old"},
		"no worse than last": {func(s *result.Summary) { s.Baseline = &result.Baseline{Outcome: "NoWorse"} }, "new"},
	} {
		s := summary(1)
		s.Run = "new"
		c.change(&s)
		st := v1alpha1.StorageBenchmarkStatus{LatestQualified: "old"}
		Summary(&st, s)
		if st.LatestQualified != c.want {
			t.Errorf("%s: the latest is %q, want %q", name, st.LatestQualified, c.want)
		}
	}
}

func TestABaselineIsSmallInAStatus(t *testing.T) {
	s := summary(1)
	s.Baseline = &result.Baseline{Run: "old", Outcome: "Regression", Sentence: strings.Repeat("x", 2000)}
	for range 40 {
		s.Baseline.Differences = append(s.Baseline.Differences, strings.Repeat("y", 2000))
	}
	st := v1alpha1.StorageBenchmarkStatus{}
	Summary(&st, s)
	if b := st.Baseline; b == nil || len(b.Message) > 512 || len(b.Differences) != maxDifferences || len(b.Differences[0]) > 256 || b.Outcome != "Regression" {
		t.Errorf("%+v", b)
	}
	if back := Baseline(st); back == nil || back.Run != "old" || back.Outcome != "Regression" {
		t.Errorf("%+v", back)
	}
	Summary(&st, summary(1))
	if st.Baseline != nil || Baseline(st) != nil {
		t.Errorf("a baseline was left: %+v", st.Baseline)
	}
}
