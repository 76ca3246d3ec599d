package progress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Set is a set of positions of workers in the plan. Its text is short even for many
// workers, because workers end nearly in order.
type Set struct{ members map[int]bool }

// ParseSet reads the text that String writes. It ignores what is not a range: a
// worker missing from the set is merely examined again, and its stored trials are
// found.
func ParseSet(s string) Set {
	set := Set{members: map[int]bool{}}
	for _, i := range Positions(s) {
		set.members[i] = true
	}
	return set
}

// maxPosition bounds the size of what somebody else wrote, and the time to read it:
// its text could repeat a long range a thousand times.
const maxPosition = 1 << 16

// Has reports whether position i is in the set.
func (s Set) Has(i int) bool { return s.members[i] }

// Len is the number of positions.
func (s Set) Len() int { return len(s.members) }

// With returns the set with position i added.
func (s Set) With(i int) Set {
	members := map[int]bool{i: true}
	for m := range s.members {
		members[m] = true
	}
	return Set{members: members}
}

// String returns the set as ranges, "0-3,7".
func (s Set) String() string {
	all := make([]int, 0, len(s.members))
	for i := range s.members {
		all = append(all, i)
	}
	slices.Sort(all)
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(all[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", all[i], all[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
