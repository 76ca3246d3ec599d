package fio

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
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
			sum := result.Part{Name: sumName(names), Operations: own[0].Operations}
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

// maxSumName is how many bytes the name of a sum may have.
const maxSumName = 160

// sumName names the sum of jobs. A blank is in no name of a job, so that it is unique.
func sumName(names []string) string {
	if name := strings.Join(names, " + "); len(name) <= maxSumName {
		return name
	}
	return fmt.Sprintf("%s + %d more", names[0], len(names)-1)
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
