package result

import (
	"slices"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

// NewWorkerSummary returns the summary of a worker that has measured nothing yet.
func NewWorkerSummary(p *trial.Plan, self trial.Worker) *WorkerSummary {
	s := &WorkerSummary{
		Schema:    WorkerSchema,
		Benchmark: p.Benchmark,
		Run:       p.Run,
		Worker:    self,
		Planned:   len(p.Trials),
		Trials:    []TrialSummary{},
		Workloads: []WorkloadPool{},
		Attempts:  []Attempt{},
	}
	for _, cell := range p.Cells() {
		s.Workloads = append(s.Workloads, WorkloadPool{Cell: cell, Histograms: Histograms{}})
	}
	return s
}

// Has reports whether a trial was folded in.
func (s *WorkerSummary) Has(id string) bool {
	return slices.ContainsFunc(s.Trials, func(t TrialSummary) bool { return t.ID == id })
}

// Fold adds a trial, which must not have been added before. A failed trial is
// listed, but its numbers do not count. Each trial adds only its headline values
// to the summary; histograms are merged.
func (s *WorkerSummary) Fold(d *Trial, object Object) {
	t := TrialSummary{Trial: d.Trial, Outcome: d.Outcome, Attempt: d.Attempt, Object: object, Failure: d.Failure}
	if d.Outcome == Measured {
		t.Metrics, t.Operations = d.Metrics, d.Operations
		for i := range s.Workloads {
			if s.Workloads[i].Cell == d.Trial.Cell() {
				s.Workloads[i].Histograms.Merge(d.Histograms)
			}
		}
	}
	s.Trials = append(s.Trials, t)
	if d.Failure != nil {
		s.Fail(d.Failure)
	}
}

// Fail records the first failure. That the node is not as it was goes before every other one.
func (s *WorkerSummary) Fail(err error) {
	if err == nil {
		return
	}
	f := trial.AsFailure(err)
	if s.Failure == nil || f.Class == reason.TunablesNotRestored && s.Failure.Class != reason.TunablesNotRestored {
		s.Failure = f
	}
}

// Sort sorts the trials in the order of the plan.
func (s *WorkerSummary) Sort(order []trial.Trial) {
	place := make(map[string]int, len(order))
	for i, t := range order {
		place[t.ID] = i
	}
	slices.SortStableFunc(s.Trials, func(a, b TrialSummary) int { return place[a.ID] - place[b.ID] })
}

// BelongsTo reports whether a document is from a trial of the plan's run, and not
// from another run whose objects had the same key.
func (d *Trial) BelongsTo(p *trial.Plan, worker trial.Worker, t trial.Trial) bool {
	return d.Benchmark == p.Benchmark && d.Run == p.Run && d.Worker == worker && d.Trial == t
}
