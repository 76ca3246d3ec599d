package report

import (
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// WorkerTrials are the trials of one worker, for reports that show more than a run's summary.
type WorkerTrials struct {
	Worker trial.Worker
	Trials []result.TrialSummary
	// Omitted is how many more there were no room for.
	Omitted int
}

// TrialsOf returns the trials of a worker, at most the given number, with only those metrics that
// reports draw: the rate or bandwidth and the p99 of each operation.
func TrialsOf(w *result.WorkerSummary, most int) WorkerTrials {
	n := min(len(w.Trials), max(0, most))
	out := WorkerTrials{Worker: w.Worker, Trials: make([]result.TrialSummary, 0, n), Omitted: len(w.Trials) - n}
	for _, t := range w.Trials[:n] {
		t.Metrics = slim(t.Operations, t.Metrics)
		parts := make([]result.PartSummary, len(t.Parts))
		for i, p := range t.Parts {
			p.Metrics = slim(p.Operations, p.Metrics)
			parts[i] = p
		}
		t.Parts = parts
		out.Trials = append(out.Trials, t)
	}
	return out
}

func slim(operations []string, metrics result.Metrics) result.Metrics {
	out := result.Metrics{}
	for _, name := range Headlines(operations, metrics) {
		out[name] = metrics[name]
	}
	return out
}
