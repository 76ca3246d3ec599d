package runner

import (
	"encoding/json"
	"fmt"
	"slices"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// summary is what the worker folds its trials into. It grows with trials by their
// headline values only; histograms are merged.
type summary struct {
	result.WorkerSummary
	pools map[string]int // index in Workloads
	known map[string]bool
}

func newSummary(p *trial.Plan, self trial.Worker) *summary {
	s := &summary{
		WorkerSummary: result.WorkerSummary{
			Schema:    result.WorkerSchema,
			Benchmark: p.Benchmark,
			Run:       p.Run,
			Worker:    self,
			Planned:   len(p.Trials),
			Trials:    []result.TrialSummary{},
			Workloads: []result.WorkloadPool{},
			Attempts:  []result.Attempt{},
		},
		pools: map[string]int{},
		known: map[string]bool{},
	}
	for i, w := range p.Workloads {
		s.pools[w.Name] = i
		s.Workloads = append(s.Workloads, result.WorkloadPool{Workload: w.Name, Histograms: result.Histograms{}})
	}
	return s
}

func (s *summary) has(id string) bool { return s.known[id] }

// fold adds a trial. A failed one counts, and its numbers do not.
func (s *summary) fold(d *result.Trial, object result.Object) {
	t := result.TrialSummary{Trial: d.Trial, Outcome: d.Outcome, Attempt: d.Attempt, Object: object, Failure: d.Failure}
	if d.Outcome == result.Measured {
		t.Metrics = d.Metrics
		s.Workloads[s.pools[d.Trial.Workload]].Histograms.Merge(d.Histograms)
	}
	s.known[d.Trial.ID] = true
	s.Trials = append(s.Trials, t)
	if d.Failure != nil {
		s.fail(d.Failure)
	}
}

// fail records the first failure.
func (s *summary) fail(err error) {
	if err != nil && s.Failure == nil {
		s.Failure = trial.AsFailure(err)
	}
}

// sort puts the trials in the order of the plan.
func (s *summary) sort(order []trial.Trial) {
	place := make(map[string]int, len(order))
	for i, t := range order {
		place[t.ID] = i
	}
	slices.SortFunc(s.Trials, func(a, b result.TrialSummary) int { return place[a.ID] - place[b.ID] })
}

// encode writes a document for people and programs.
func encode(document any) ([]byte, error) {
	b, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	return append(b, '\n'), nil
}
