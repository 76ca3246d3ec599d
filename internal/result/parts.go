package result

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/trial"
)

// MaxRowParts is how many parts of a trial are rows.
const MaxRowParts = 32

// cellPart is a part of a cell.
type cellPart struct {
	trial.Cell
	part string
}

// checkParts bounds how many rows the trials of a cell make together. They have the same
// parts, but for sums, which depend on what their jobs did.
func (s *WorkerSummary) checkParts() error {
	seen := map[cellPart]bool{}
	rows := map[trial.Cell]int{}
	for i := range s.Trials {
		cell := s.Trials[i].Cell()
		for _, p := range s.Trials[i].Parts {
			if at := (cellPart{cell, p.Name}); !seen[at] {
				seen[at] = true
				rows[cell]++
			}
		}
		if rows[cell] > 2*MaxRowParts {
			return fmt.Errorf("workload %.64q with variant %.64q has more than %d parts", cell.Workload, cell.Variant, 2*MaxRowParts)
		}
	}
	return nil
}

// partPattern is what parts that are rows are called.
var partPattern = regexp.MustCompile(`^[A-Za-z0-9_+][A-Za-z0-9._+ -]{0,159}$`)

// between stands between the names of jobs in that of their sum. A blank is in no name of a job.
const between = " + "

// SumOf names the sum of jobs. A long name lists only the first of them.
func SumOf(jobs []string) string {
	const most = 160
	if name := strings.Join(jobs, between); len(name) <= most {
		return name
	}
	return fmt.Sprintf("%s%s%d more", jobs[0], between, len(jobs)-1)
}

// JobsOf returns the jobs that a part's name lists.
func JobsOf(part string) []string { return strings.Split(part, between) }

// checkParts checks the parts of a trial's document.
func checkParts(parts []Part) error {
	if len(parts) > maxParts {
		return fmt.Errorf("it has %d parts, the limit is %d", len(parts), maxParts)
	}
	var rows []PartSummary
	for _, p := range parts {
		if p.Direct != "" && !p.Direct.known() {
			return fmt.Errorf("the direct I/O of part %.64q is %.64q", p.Name, p.Direct)
		}
		if err := errors.Join(checkNames(p.Name), checkMeasured(Measured, 0, nil, p.Metrics, p.Operations, p.Histograms)); err != nil {
			return fmt.Errorf("part %.64q: %w", p.Name, err)
		}
		if len(p.Operations) > 0 {
			rows = append(rows, PartSummary{Name: p.Name, Metrics: p.Metrics, Operations: p.Operations})
		}
	}
	return checkPartSummaries(rows)
}

// checkPartSummaries checks the parts of a trial that are rows. Their names are printed.
func checkPartSummaries(parts []PartSummary) error {
	if len(parts) > MaxRowParts {
		return fmt.Errorf("%d of its parts are rows, the limit is %d", len(parts), MaxRowParts)
	}
	seen := map[string]bool{}
	for _, p := range parts {
		if seen[p.Name] || !partPattern.MatchString(p.Name) {
			return fmt.Errorf("a part has the name %.64q, which is invalid or appears twice", p.Name)
		}
		seen[p.Name] = true
		if err := errors.Join(checkMeasured(Measured, 0, nil, p.Metrics, p.Operations, nil), p.Files.check()); err != nil {
			return fmt.Errorf("part %.64q: %w", p.Name, err)
		}
	}
	return nil
}

// withoutOperations returns the metrics that are not about one of the operations.
func withoutOperations(metrics Metrics, operations []string) Metrics {
	return metrics.Without(func(name string) bool {
		return slices.ContainsFunc(operations, func(op string) bool { return strings.HasPrefix(name, op+".") })
	})
}

// headlines of a part leave out the two parts of latency where there is a total: a summary
// has room for many parts, and the trial's document has them all.
func headlines(metrics Metrics) Metrics {
	return metrics.Without(func(name string) bool {
		op, _, completion := strings.Cut(name, ".completion.")
		_, total := metrics[op+".latency.p50"]
		return completion && total || strings.Contains(name, ".submission.")
	})
}

// Without returns the metrics but some. A map from which they are deleted keeps their memory.
func (m Metrics) Without(some func(name string) bool) Metrics {
	if m == nil {
		return nil
	}
	left := Metrics{}
	for name, metric := range m {
		if !some(name) {
			left[name] = metric
		}
	}
	return left
}

// OfPart returns the trial with the values of one of its parts; "": of the whole. It reports
// whether the trial has that part.
func (t TrialSummary) OfPart(part string) (TrialSummary, bool) {
	if part == "" {
		return t, true
	}
	i := slices.IndexFunc(t.Parts, func(p PartSummary) bool { return p.Name == part })
	if i < 0 {
		return t, false
	}
	t.Metrics, t.Operations, t.Files = t.Parts[i].Metrics, t.Parts[i].Operations, t.Parts[i].Files
	return t, true
}
