package stats

import (
	"slices"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/verdict"
)

// shared finds the targets of a node that are on the same disks, and says so on their rows: only
// here are the environments of all workers together.
func shared(p *trial.Plan, s *result.Summary) {
	byNode := map[string][]trial.Worker{}
	for _, w := range p.Workers {
		byNode[w.Node] = append(byNode[w.Node], w)
	}
	for _, w := range p.Workers {
		var others, disks []string
		for _, o := range byNode[w.Node] {
			if o.Target == w.Target {
				continue
			}
			if found := verdict.SharedDisks(s.Environment[w.Name], s.Environment[o.Name]); len(found) > 0 {
				others, disks = union(others, []string{o.Target}), union(disks, found)
			}
		}
		if len(others) == 0 {
			continue
		}
		slices.Sort(others)
		v := verdict.OnSameDevice(others, disks)
		for i := range s.Rows {
			row := &s.Rows[i]
			if row.Target == w.Target && row.Node == w.Node && len(row.Verdicts) < maxRowVerdicts && !slices.ContainsFunc(row.Verdicts, func(r result.RowVerdict) bool { return r.Name == v.Name }) {
				row.Verdicts = append(slices.Clone(row.Verdicts), result.RowVerdict{Verdict: v, Trials: row.N})
				sortVerdicts(row.Verdicts)
			}
		}
	}
}
