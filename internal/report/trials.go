package report

import (
	"slices"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// maxSettings is how many bytes of settings are kept of a worker's trials. A tenant can have written them.
const maxSettings = 128 << 10

// WorkerTrials are the trials of one worker, for reports that show more than a run's summary.
type WorkerTrials struct {
	Worker trial.Worker
	Trials []result.TrialSummary
	// Omitted is how many more there were no room for.
	Omitted int
}

// TrialsOf returns the trials of a worker, at most the given number, with only those metrics that
// reports draw: the rate or bandwidth and the p99 of each operation. Of verdicts it keeps the names, as their
// sentences are in the run's summary; of settings as many as have room.
func TrialsOf(w *result.WorkerSummary, most int) WorkerTrials {
	n := min(len(w.Trials), max(0, most))
	out := WorkerTrials{Worker: w.Worker, Trials: make([]result.TrialSummary, 0, n), Omitted: len(w.Trials) - n}
	room := maxSettings
	for _, t := range w.Trials[:n] {
		verdicts := make([]result.Verdict, len(t.Verdicts))
		for i, v := range t.Verdicts {
			verdicts[i] = result.Verdict{Name: v.Name, Effect: v.Effect, Operation: v.Operation, Parts: v.Parts}
		}
		t.Verdicts = verdicts
		for i, set := range t.Tunables {
			if room -= len(set.Name) + len(set.On) + len(set.Asked) + len(set.Before) + len(set.During) + len(set.Restoring); room < 0 {
				t.Tunables = slices.Clone(t.Tunables[:i])
				break
			}
		}
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
