package fio

import (
	"fmt"
	"slices"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// measurer makes metrics of the clones of one or more jobs.
type measurer func([]*jobOutput) (result.Metrics, result.Histograms)

// addParts adds the jobs, by name, as parts of a measurement, whatever the order in which fio
// printed them. Of several jobs each is a row. So is the sum of those that ran together, if
// all did the same operations. What ran one after the other, or was of several kinds, has no
// sum: no application sees that rate.
func addParts(m *result.Measurement, jobs []job, clones map[string][]*jobOutput, measure measurer) {
	groups := groupsOf(jobs, clones)
	if len(groups) == 1 && len(groups[0]) == 1 {
		part := result.Part{Name: groups[0][0]}
		part.Metrics, part.Histograms = measure(clones[part.Name])
		m.Parts = append(m.Parts, part)
		return
	}
	for _, names := range groups {
		var own []result.Part
		var all []*jobOutput
		for _, name := range names {
			part := result.Part{Name: name}
			part.Metrics, part.Histograms = measure(clones[name])
			part.Operations = measured(part.Metrics)
			own = append(own, part)
			all = append(all, clones[name]...)
		}
		alike := len(names) > 1 && sameOperations(own)
		switch {
		case len(groups) == 1:
			m.PartsOnly = !alike // its sum is the trial itself
		case alike:
			sum := result.Part{Name: result.SumOf(names), Operations: own[0].Operations}
			sum.Metrics, sum.Histograms = measure(all)
			m.Parts = append(m.Parts, sum)
		}
		m.Parts = append(m.Parts, own...)
	}
	if len(groups) > 1 {
		m.PartsOnly = true
		m.Notes = append(m.Notes, fmt.Sprintf("%d groups ran one after the other: each has rows of its own; the trial's rates and latencies mix them and are in no row", len(groups)))
	}
	m.Notes = append(m.Notes, limitRows(m.Parts)...)
}

// describeParts adds to the parts of several jobs what is known of each: which blocks its jobs use, what happens to their
// direct I/O, and when they ran. modes, ran and what the rehearsal has shown are by job.
func describeParts(parts []result.Part, jobs []job, modes []result.DirectMode, ran []span, mode trial.Mode, shown rehearsal) {
	if len(jobs) < 2 {
		return
	}
	for i := range parts {
		p := &parts[i]
		which := indexes(jobs, p.Name)
		var own []job
		var of rehearsal
		var during span
		for n, k := range which {
			own = append(own, jobs[k])
			if k < len(shown.Reuse) {
				of.Reuse = append(of.Reuse, shown.Reuse[k])
			}
			during.include(ran[k])
			if n == 0 {
				p.Direct = modes[k]
			} else if modes[k] != p.Direct {
				p.Direct = ""
			}
		}
		if len(own) == 0 {
			continue
		}
		p.StartedAt, p.EndedAt = during.from, during.to
		setHot(own, mode, of, p.Metrics)
		setInStep(jobs, which, mode, p.Metrics)
		setDepths(own, p.Metrics)
		if bytes := footprint(own, 0); mode == trial.Filesystem && bytes > 0 {
			p.Metrics.Set(result.FilesBytes, result.Bytes, float64(bytes))
		}
	}
}

// indexes returns which of the jobs a part is of; none: its name does not list all of them.
func indexes(jobs []job, part string) []int {
	var out []int
	for _, name := range result.JobsOf(part) {
		i := slices.IndexFunc(jobs, func(j job) bool { return j.name == name })
		if i < 0 {
			return nil
		}
		out = append(out, i)
	}
	return out
}

// all are the indexes of all jobs.
func all(jobs []job) []int {
	out := make([]int, len(jobs))
	for i := range out {
		out[i] = i
	}
	return out
}

// groupsOf returns the names of the jobs that ran together, group by group.
func groupsOf(jobs []job, clones map[string][]*jobOutput) [][]string {
	var order []int
	names := map[int][]string{}
	for _, j := range jobs {
		if len(clones[j.name]) == 0 {
			continue
		}
		id := clones[j.name][0].Group
		if names[id] == nil {
			order = append(order, id)
		}
		names[id] = append(names[id], j.name)
	}
	slices.Sort(order) // fio counts them as they run
	groups := make([][]string, 0, len(order))
	for _, id := range order {
		groups = append(groups, names[id])
	}
	return groups
}

// sameOperations reports whether all parts did the same operations, and at least one.
func sameOperations(parts []result.Part) bool {
	for _, p := range parts {
		if len(p.Operations) == 0 || !slices.Equal(p.Operations, parts[0].Operations) {
			return false
		}
	}
	return true
}

// limitRows leaves rows to as many parts as a summary has room for.
func limitRows(parts []result.Part) []string {
	rows := 0
	for i := range parts {
		if len(parts[i].Operations) == 0 {
			continue
		}
		if rows++; rows > result.MaxRowParts {
			parts[i].Operations = nil
		}
	}
	if rows <= result.MaxRowParts {
		return nil
	}
	return []string{fmt.Sprintf("only the first %d of %d jobs and sums have rows; the others are only in the trial's document", result.MaxRowParts, rows)}
}
