package verdict

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// SharedDisks returns the lowest devices that what is written to either of two targets of one node passes, by
// name: disks where they can be seen, or else what hides them, such as a loop device whose file is out of sight,
// a pool, a disk or a share of another machine. That the targets are of one node is for the caller to know: in a Pod
// the hostname is the Pod's.
func SharedDisks(a, b *result.Environment) []string {
	if a == nil || b == nil {
		return nil
	}
	others, sameBoot := result.Written(b.Target.Layers), a.BootID != "" && a.BootID == b.BootID
	isShared := func(l result.Layer) bool {
		return identified(l) && slices.ContainsFunc(others, func(o result.Layer) bool { return sameStorage(l, o, sameBoot) })
	}
	var out []string
	for _, l := range result.Written(a.Target.Layers) {
		if !isShared(l) {
			continue
		}
		if len(l.Below) > 0 && slices.ContainsFunc(result.Written(append([]result.Layer{l}, a.Target.Layers...))[1:], isShared) {
			continue // what is below it says more
		}
		if name := storageName(l); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Elsewhere reports whether a device of SharedDisks keeps its data where it cannot be seen from the node: on another
// machine, or with a program.
func Elsewhere(e *result.Environment, disk string) bool {
	return slices.ContainsFunc(e.Target.Layers, func(l result.Layer) bool {
		return (l.Kind == result.RemoteLayer || l.Kind == result.UnknownLayer) && storageName(l) == disk
	})
}

// identified reports whether a layer has a name that no other one of its node has. Block devices and pools have,
// and what is mounted from another machine. Mount points do not: each Pod has its own, and every tmpfs is from
// "tmpfs". Nor do paths that cannot be followed.
func identified(l result.Layer) bool {
	switch {
	case strings.HasPrefix(l.ID, "fs:"):
		return l.Kind == result.RemoteLayer && l.Source != ""
	case strings.HasPrefix(l.ID, "file:"):
		return false
	default:
		return l.Kind != result.UnknownLayer || l.Number != ""
	}
}

// sameStorage reports whether two layers of one node, each of which is identified, are the same. A number that was given
// again to a loop device of another file, a volume of another name or a disk of another size is not; nor is one that was given
// to another disk of the same kind, such as the next volume of a cloud, which the kernel's count of disks since its boot tells.
func sameStorage(a, b result.Layer, sameBoot bool) bool {
	if a.Kind != b.Kind || a.Type != b.Type || a.Source != b.Source || strings.HasPrefix(a.ID, "fs:") != strings.HasPrefix(b.ID, "fs:") {
		return false
	}
	if strings.HasPrefix(a.ID, "fs:") {
		return a.Options == b.Options // also its port, as several tunnels have one address
	}
	if sameBoot && a.DiskSeq != 0 && b.DiskSeq != 0 && a.DiskSeq != b.DiskSeq {
		return false
	}
	return a.ID == b.ID && a.Number == b.Number && a.SizeBytes == b.SizeBytes && a.Model == b.Model
}

// storageName is what a layer that is identified is called: a share by where it is mounted from.
func storageName(l result.Layer) string {
	if strings.HasPrefix(l.ID, "fs:") {
		return l.Source
	}
	return l.ID
}

// OnSameDevice is the verdict on a target that shares devices with other ones of its benchmark.
func OnSameDevice(others, disks []string) result.Verdict {
	return result.Verdict{
		Name: SameDevice, Effect: result.Qualifies,
		Sentence: plain(fmt.Sprintf("This target is on the same storage as %s: %s. A difference between them is not one of disks.", strings.Join(others, ", "), strings.Join(disks, ", "))),
		Settle:   "Compare targets on disks of their own, or compare what is above the disk, such as file systems.",
		Evidence: evidence(number{"disks", result.Count, float64(len(disks))}),
	}
}
