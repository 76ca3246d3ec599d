package plan

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/steady"
	"storagebench.io/storagebench/internal/trial"
)

const (
	// defaultRounds is the limit of SNIA's PTS.
	defaultRounds = 25
	// maxRounds is the highest spec.workloads[].precondition.maxRounds.
	maxRounds = 100
)

// preconditionOf returns what runs before the first trial of a workload. It refuses rounds whose rate
// would be steady whatever the storage does, or that have none.
//
// The rounds of a search offer its highest rate: a storage that cannot keep up with it becomes steady at what it
// can do, and one that can has been shown to do so for five rounds.
func preconditionOf(field string, spec *v1alpha1.Precondition, built trial.Workload, w v1alpha1.Workload) (*trial.Precondition, error) {
	if spec == nil {
		return nil, nil
	}
	field += ".maxRounds"
	out := &trial.Precondition{MaxRounds: int(spec.MaxRounds), Judged: spec.MaxRounds >= steady.Rounds}
	if out.MaxRounds < 1 || out.MaxRounds > maxRounds {
		return nil, invalid(field, fmt.Sprintf("%d rounds are not between 1 and %d", out.MaxRounds, maxRounds), fmt.Sprintf("omit it for %d", defaultRounds))
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
	if option := fixesRate(built, w); option != "" && built.Knee == nil {
		return nil, invalid(field, fmt.Sprintf("the workload sets its rate with %s, so the rate would be steady although the storage is not", option), "remove "+option+", or "+warmUp)
	}
	return out, nil
}

// rateOption matches an option of fio with which a job chooses its rate or its depth itself.
var rateOption = regexp.MustCompile(`(?m)(?:^|\s)(?:--)?(rate|rate_iops|latency_target)[ \t]*=`)

// fixesRate returns the field or the option by which a workload chooses its rate; empty: it is as fast as the
// storage.
func fixesRate(built trial.Workload, w v1alpha1.Workload) string {
	var config struct{ OfferedRate int64 }
	if err := json.Unmarshal(built.Config, &config); err == nil && config.OfferedRate > 0 {
		return "offeredRate"
	}
	if w.Fio == nil {
		return ""
	}
	for _, option := range []string{"rate", "rate_iops", "latency_target"} {
		if _, ok := w.Fio.Parameters[option]; ok {
			return option
		}
	}
	for _, text := range []string{w.Fio.JobFile, w.Fio.CommandLine} {
		if found := rateOption.FindStringSubmatch(text); found != nil {
			return found[1]
		}
	}
	return ""
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
