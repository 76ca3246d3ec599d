package plan

import (
	"fmt"
	"slices"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/steady"
	"storagebench.io/storagebench/internal/trial"
)

// defaultRounds is the limit of SNIA's PTS.
const defaultRounds = 25

// preconditionOf returns what runs before the first trial of a workload. It refuses rounds whose rate
// would be steady whatever the storage does, or that have none.
//
// The rounds of a search offer its highest rate: a storage that cannot keep up with it becomes steady at what it
// can do, and one that can has been shown to do so for five rounds.
func preconditionOf(field string, spec *v1alpha1.Precondition, built trial.Workload, engines Checker) (*trial.Precondition, error) {
	if spec == nil {
		return nil, nil
	}
	field += ".maxRounds"
	out := &trial.Precondition{MaxRounds: int(spec.MaxRounds), Judged: spec.MaxRounds >= steady.Rounds}
	if out.MaxRounds < 1 || out.MaxRounds > result.MaxRounds {
		return nil, invalid(field, fmt.Sprintf("%d rounds are not between 1 and %d", out.MaxRounds, result.MaxRounds), fmt.Sprintf("omit it for %d", defaultRounds))
	}
	if built.Knee != nil {
		out.Rate = built.Knee.To
	}
	if !out.Judged {
		return out, nil
	}
	warmUp := fmt.Sprintf("set it below %d for a plain warm-up", steady.Rounds)
	if slices.Contains([]string{"bonnie", "iozone", "flushLadder"}, built.Engine) {
		return nil, invalid(field, fmt.Sprintf("%s runs a series of different tests, and has no rate of its own that could become steady", built.Engine), warmUp+", or use fio")
	}
	if option := engines.Pace(built.Engine, built.Config); option != "" && built.Knee == nil {
		return nil, invalid(field, fmt.Sprintf("the workload sets its rate with %s, so the rate would be steady although the storage is not", option), "remove "+option+", or "+warmUp)
	}
	return out, nil
}

// LeastRounds is how many rounds of its precondition a workload has in any case.
func LeastRounds(w trial.Workload) int {
	if w.Precondition != nil && w.Precondition.Judged {
		return min(steady.Rounds, w.Precondition.MaxRounds)
	}
	return MostRounds(w)
}

// MostRounds is the highest number of rounds before a workload's first trial.
func MostRounds(w trial.Workload) int {
	if w.Precondition == nil {
		return 0
	}
	return w.Precondition.MaxRounds
}
