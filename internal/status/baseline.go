package status

import (
	"slices"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/compare"
	"storagebench.io/storagebench/internal/result"
)

// maxDifferences between a run and its baseline that a status has.
const maxDifferences = 16

// setBaseline writes the comparison with the baseline, and records the run as one for later runs if it
// may be.
func setBaseline(status *v1alpha1.StorageBenchmarkStatus, s result.Summary) {
	status.Baseline = nil
	if b := s.Baseline; b != nil {
		status.Baseline = &v1alpha1.BaselineStatus{Run: Shorten(b.Run, 80), Outcome: v1alpha1.BaselineOutcome(b.Outcome), Message: Shorten(b.Sentence, 512)}
		for _, d := range b.Differences[:min(len(b.Differences), maxDifferences)] {
			status.Baseline.Differences = append(status.Baseline.Differences, Shorten(d, 256))
		}
	}
	if qualifies(s) {
		status.LatestQualified = s.Run
	}
}

// qualifies reports whether later runs may be compared with a run.
func qualifies(s result.Summary) bool {
	unqualified := []string{result.NotQualified, result.Invalid, string(compare.Inconclusive)}
	switch {
	case s.Baseline != nil && s.Baseline.Lost:
		return false // nobody knows whether it is worse than the run that it was to be compared with
	case len(s.Failures) > 0 || len(s.Rows) == 0 || s.Stored < s.Planned:
		return false
	case s.Answer != nil && len(s.Gates) > 0 && slices.Contains(unqualified, s.Answer.Answer), s.Answer != nil && s.Answer.Answer == result.Invalid:
		return false
	}
	return s.Baseline == nil || s.Baseline.Outcome != string(compare.Regression)
}

// Baseline converts a status's comparison with the baseline to that of a summary, or returns nil.
func Baseline(status v1alpha1.StorageBenchmarkStatus) *result.Baseline {
	if b := status.Baseline; b != nil {
		return &result.Baseline{Run: b.Run, Outcome: string(b.Outcome), Sentence: b.Message, Differences: b.Differences}
	}
	return nil
}
