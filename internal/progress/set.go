package progress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Set holds positions of workers in the plan. As workers end nearly in order, its text
// is short however many there are.
type Set struct{ members map[int]bool }

// ParseSet reads what String wrote. What is not a range is left out: a worker that is
// missing in the set is looked at again, and its stored trials are found.
func ParseSet(s string) Set {
	set := Set{members: map[int]bool{}}
	left := maxPosition
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		low, err := strconv.Atoi(from)
		high := low
		if err == nil && isRange {
			high, err = strconv.Atoi(to)
		}
		if err != nil || low < 0 || high >= maxPosition {
			continue
		}
		for i := low; i <= high && left > 0; i++ {
			set.members[i] = true
			left--
		}
	}
	return set
}

// maxPosition bounds what a text that somebody else wrote can make of a Set: its size, and
// the time to read it, as such a text could repeat a long range a thousand times.
const maxPosition = 1 << 16

// Has reports whether position i is in the set.
func (s Set) Has(i int) bool { return s.members[i] }

// Len is the number of positions.
func (s Set) Len() int { return len(s.members) }

// With returns the set with position i in it as well.
func (s Set) With(i int) Set {
	members := map[int]bool{i: true}
	for m := range s.members {
		members[m] = true
	}
	return Set{members: members}
}

// String gives the set as ranges, "0-3,7".
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
