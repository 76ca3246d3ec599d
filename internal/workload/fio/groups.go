package fio

import (
	"fmt"
	"maps"
	"slices"
)

// join gives groups that ran at the same time one number. fio begins a group at a job with
// stonewall, which waits for those before it, and at one with new_group, which does not. It
// returns what to note.
func join(own []foreignJob) []string {
	firsts := map[int]*foreignJob{}
	for i := range own {
		if j := &own[i]; firsts[j.Group] == nil {
			firsts[j.Group] = j
		}
	}
	joined, unknown := map[int]int{}, false
	var before *foreignJob
	for _, id := range slices.Sorted(maps.Keys(firsts)) {
		j := firsts[id]
		joined[id] = id
		if before != nil {
			together, known := j.joins(before)
			if together {
				joined[id] = joined[before.Group]
			}
			unknown = unknown || !known
		}
		before = j
	}
	merged := 0
	for id, to := range joined {
		if id != to {
			merged++
		}
	}
	for i := range own {
		own[i].Group = joined[own[i].Group]
	}
	var out []string
	if merged > 0 {
		out = append(out, fmt.Sprintf("%d of %d groups did not wait for the one before (new_group without stonewall): what ran together is added up", merged, len(firsts)))
	}
	if unknown {
		out = append(out, "the output does not say whether its groups ran one after the other, which is assumed, or together (new_group)")
	}
	return out
}

// joins reports whether the first job of a group ran together with the group before, and whether
// that is known: from the options, or else from when the jobs began.
func (j *foreignJob) joins(before *foreignJob) (together, known bool) {
	switch {
	case j.set("stonewall") || j.set("wait_for_previous") || j.set("wait_for"):
		return false, true
	case j.set("new_group"):
		return true, true
	case j.Start > 0 && before.Start > 0 && before.Runtime > 0:
		const half = 2 // times are those of the clock, and a job takes a while to begin
		return float64(j.Start) < float64(before.Start)+before.Runtime/half, true
	}
	return false, false
}

// groupsAmong is how many groups jobs have, after join.
func groupsAmong(own []foreignJob) int {
	ids := map[int]bool{}
	for i := range own {
		ids[own[i].Group] = true
	}
	return len(ids)
}
