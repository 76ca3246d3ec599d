package stats

import (
	"maps"
	"slices"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/verdict"
)

// place is a target on a node.
type place struct{ node, target string }

// sharing has the devices that targets share with other ones of their node, by the names of these.
type sharing map[place]map[string][]string

func (s sharing) add(at place, other string, disks []string) {
	if s[at] == nil {
		s[at] = map[string][]string{}
	}
	s[at][other] = union(s[at][other], disks)
}

// shared finds the targets of a node that are on the same disks, and says so on their rows: only
// here are the environments of all workers together.
func shared(p *trial.Plan, s *result.Summary) sharing {
	byNode := map[string][]trial.Worker{}
	for _, w := range p.Workers {
		byNode[w.Node] = append(byNode[w.Node], w)
	}
	found := sharing{}
	for node, workers := range byNode {
		for i, a := range workers {
			for _, b := range workers[i+1:] {
				if a.Target == b.Target {
					continue
				}
				if disks := sharedBy(p, a, b, s); len(disks) > 0 {
					found.add(place{node, a.Target}, b.Target, disks)
					found.add(place{node, b.Target}, a.Target, disks)
				}
			}
		}
	}
	for i := range s.Rows {
		row := &s.Rows[i]
		others := found[place{row.Node, row.Target}]
		if len(others) == 0 || len(row.Verdicts) >= maxRowVerdicts || slices.ContainsFunc(row.Verdicts, func(r result.RowVerdict) bool { return r.Name == verdict.SameDevice }) {
			continue
		}
		var disks []string
		for _, with := range others {
			disks = union(disks, with)
		}
		slices.Sort(disks)
		v := verdict.OnSameDevice(slices.Sorted(maps.Keys(others)), disks)
		row.Verdicts = append(slices.Clone(row.Verdicts), result.RowVerdict{Verdict: v, Trials: row.N})
		sortVerdicts(row.Verdicts)
	}
	return found
}

// sharedBy returns the devices that the targets of two workers of one node share. A volume of a cluster is attached
// for its worker, and one that is elsewhere may have the name and the number of the one before: rbd0 is
// rbd0 again. So of those nothing is said.
func sharedBy(p *trial.Plan, a, b trial.Worker, s *result.Summary) []string {
	here := s.Environment[a.Name]
	disks := verdict.SharedDisks(here, s.Environment[b.Name])
	if attached(p, a.Target) || attached(p, b.Target) {
		disks = slices.DeleteFunc(disks, func(disk string) bool { return verdict.Elsewhere(here, disk) })
	}
	return disks
}

// attached reports whether a target is a volume that a cluster attaches for its worker.
func attached(p *trial.Plan, target string) bool {
	source := p.Target(target).Source
	return p.Benchmark.UID != "" && (source == trial.StorageClass || source == trial.PersistentVolumeClaim)
}
