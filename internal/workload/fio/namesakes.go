package fio

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// distinct gives jobs names of their own that share one but not their group or options, as with
// name= in [global]: clones have all of these in common. It returns a note for each such name.
func distinct(own []foreignJob) []string {
	kinds := map[string][]*foreignJob{}
	of := make([]int, len(own))
	for i := range own {
		j := &own[i]
		of[i] = slices.IndexFunc(kinds[j.Name], j.cloneOf)
		if of[i] < 0 {
			of[i] = len(kinds[j.Name])
			kinds[j.Name] = append(kinds[j.Name], j)
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if same := kinds[name]; len(same) > 1 {
			out = append(out, fmt.Sprintf("%d different jobs are named %s, and get numbers: %s", len(same), clip(name), differences(same)))
		}
	}
	names := make([]string, len(own))
	for i := range own {
		names[i] = own[i].Name
		if len(kinds[names[i]]) > 1 {
			names[i] = fmt.Sprintf("%s #%d", own[i].Name, of[i]+1)
		}
	}
	for i := range own {
		own[i].Name = names[i]
	}
	return out
}

// cloneOf reports whether a job may be a clone of another: some versions print the options of
// the first clone only.
func (j *foreignJob) cloneOf(other *foreignJob) bool {
	return j.Group == other.Group && (len(j.Options) == 0 || len(other.Options) == 0 || maps.Equal(j.Options, other.Options))
}

// differences lists the options by which jobs differ, job by job.
func differences(jobs []*foreignJob) string {
	const most = 8
	var lines []string
	for i, j := range jobs[:min(len(jobs), most)] {
		var own []string
		for _, name := range slices.Sorted(maps.Keys(j.Options)) {
			if slices.ContainsFunc(jobs, func(other *foreignJob) bool { return other.Options[name] != j.Options[name] }) {
				own = append(own, clip(name+"="+j.Options[name]))
			}
		}
		if len(own) == 0 {
			own = []string{fmt.Sprintf("group %d", j.Group)}
		}
		lines = append(lines, fmt.Sprintf("#%d has %s", i+1, strings.Join(own[:min(len(own), most)], " ")))
	}
	return strings.Join(lines, ", ")
}
