package verdict

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// SharedDisks returns the disks that are at the bottom of two targets of one node, by name. What
// is out of sight, or on another machine, is no disk of theirs. That the targets are of one node is
// for the caller to know: in a Pod the hostname is the Pod's.
func SharedDisks(a, b *result.Environment) []string {
	if a == nil || b == nil {
		return nil
	}
	var out []string
	for _, l := range result.Leaves(result.Written(a.Target.Layers)) {
		same := func(o result.Layer) bool { return o.Kind == result.DiskLayer && o.ID == l.ID && o.Number == l.Number }
		if l.Kind == result.DiskLayer && slices.ContainsFunc(result.Leaves(result.Written(b.Target.Layers)), same) && !slices.Contains(out, l.ID) {
			out = append(out, l.ID)
		}
	}
	slices.Sort(out)
	return out
}

// OnSameDevice is the verdict on a target that shares disks with other ones of its benchmark.
func OnSameDevice(others, disks []string) result.Verdict {
	return result.Verdict{
		Name: SameDevice, Effect: result.Qualifies,
		Sentence: plain(fmt.Sprintf("This target is on the same disk as %s: %s. A difference between them is not one of disks.", strings.Join(others, ", "), strings.Join(disks, ", "))),
		Settle:   "Compare targets on disks of their own, or compare what is above the disk, such as file systems.",
		Evidence: evidence(number{"disks", result.Count, float64(len(disks))}),
	}
}
