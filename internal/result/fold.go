package result

import (
	"slices"
	"strings"

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

// StopOf returns why a cell was measured no more before its last planned trial, or nothing.
func (s *WorkerSummary) StopOf(cell trial.Cell) StopReason {
	for _, stopped := range s.Stopped {
		if stopped.Workload == cell.Workload && (stopped.Variant == "" || stopped.Variant == cell.Variant) {
			return stopped.Reason
		}
	}
	return ""
}

// Needed is how many of the planned trials the worker was to run: those that it did not need do not
// count.
func (s *WorkerSummary) Needed(p *trial.Plan) int {
	needed := len(s.Trials)
	done := make(map[string]bool, len(s.Trials))
	for _, t := range s.Trials {
		done[t.ID] = true
	}
	for _, t := range p.Trials {
		if !done[t.ID] && s.StopOf(t.Cell()) == "" {
			needed++
		}
	}
	return needed
}

// Fold adds a trial, which must not have been added before. A failed trial is
// listed, but its numbers do not count. Each trial adds only its headline values
// to the summary; histograms are merged.
func (s *WorkerSummary) Fold(d *Trial, object Object) {
	t := TrialSummary{Trial: d.Trial, Seconds: d.Seconds, Outcome: d.Outcome, Attempt: d.Attempt, StartedAt: d.StartedAt, EndedAt: d.EndedAt, Object: object, Precondition: d.Precondition, Tunables: firstTunables(d.Tunables), Failure: d.Failure}
	if d.Outcome == Measured {
		t.Metrics, t.Operations, t.Verdicts, t.Files = d.Metrics, d.Operations, s.briefly(d.Trial.Cell(), d.Verdicts), files(d.Files, "")
		if d.PartsOnly {
			t.Metrics, t.Operations = withoutOperations(d.Metrics, d.Operations), nil
		} else {
			s.merge(d.Trial.Cell(), "", d.Histograms)
		}
		s.merge(d.Trial.Cell(), "", d.DeviceHistograms())
		for _, p := range d.Parts {
			if len(p.Operations) > 0 && len(t.Parts) < MaxRowParts {
				t.Parts = append(t.Parts, PartSummary{Name: p.Name, Metrics: headlines(p.Metrics), Operations: p.Operations, Files: files(d.Files, p.Name)})
				s.merge(d.Trial.Cell(), p.Name, p.Histograms)
			}
		}
	}
	s.Trials = append(s.Trials, t)
	if d.Failure != nil {
		s.Fail(d.Failure)
	}
}

// briefly returns a trial's verdicts for the summary, without what was said of the same rows of the trial before. Of many
// jobs that would be most of the summary, and a row says it once.
func (s *WorkerSummary) briefly(cell trial.Cell, verdicts []Verdict) []Verdict {
	out := slices.Clone(verdicts)
	for _, before := range slices.Backward(s.Trials) {
		if before.Cell() != cell || before.Outcome != Measured {
			continue
		}
		for k := range out {
			v := &out[k]
			same := func(o Verdict) bool {
				return o.Name == v.Name && o.Operation == v.Operation && o.Effect == v.Effect && slices.Equal(o.Parts, v.Parts)
			}
			if len(v.Parts) > 0 && slices.ContainsFunc(before.Verdicts, same) {
				v.Sentence, v.Settle, v.Evidence = "", "", nil
			}
		}
		break
	}
	return out
}

// firstTunables are those that a summary has room for, with texts that it has room for.
func firstTunables(all []Tunable) []Tunable {
	first := slices.Clone(all[:min(len(all), maxTunables)])
	for i := range first {
		if text := first[i].Restoring; len(text) > maxSentence {
			first[i].Restoring = strings.Clone(strings.ToValidUTF8(text[:maxSentence], "")) // the rest is not kept in memory
		}
	}
	return first
}

// merge adds histograms to those of a cell, or of a part of it.
func (s *WorkerSummary) merge(cell trial.Cell, part string, h Histograms) {
	i := slices.IndexFunc(s.Workloads, func(p WorkloadPool) bool { return p.Cell == cell && p.Part == part })
	if i < 0 {
		if part == "" {
			return // it is not in the plan
		}
		i = len(s.Workloads)
		s.Workloads = append(s.Workloads, WorkloadPool{Cell: cell, Part: part, Histograms: Histograms{}})
	}
	s.Workloads[i].Histograms.Merge(h)
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
	return d.Benchmark == p.Benchmark && d.Run == p.Run && d.Worker == worker && d.Trial.Planned() == t
}
