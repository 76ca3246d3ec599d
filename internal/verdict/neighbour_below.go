package verdict

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// flushOfFile is how many bytes a file system writes at most when a loop device has it flush the loop device's file.
const flushOfFile = 64 << 10

// noisyBelow: the disks below loop devices did more than these asked of them. The loop devices have the target's data in
// files of a file system that others use, too, and what those do to its disks is not counted at the loop devices.
func noisyBelow(f *Facts) []result.Verdict {
	duration := f.value("device.seconds")
	if !f.counted() || !f.has("below.read.bytes") || !f.has("below.write.bytes") || duration <= 0 || !f.passesBelow() {
		return nil
	}
	read, wrote := f.value("below.read.bytes"), f.value("below.write.bytes")
	asked := max(f.value("device.write.bytes"), fileBlock*f.value("device.write.count"))
	foreign := max(0, read-f.value("device.read.bytes")-metadata)
	if f.has("device.flush.count") || !f.syncs() {
		foreign += max(0, wrote-1.3*asked-flushOfFile*f.value("device.flush.count")-metadata)
	}
	share := foreign / (read + wrote)
	if foreign < faint*duration || share <= disturbed {
		return nil
	}
	e, _ := effect(share)
	loops := strings.Join(f.Target.Counted(), ", ")
	return []result.Verdict{{
		Name: NoisyNeighbour, Effect: e, Settle: "Find out who else uses the disks below the loop device, and measure again without it.",
		Sentence: fmt.Sprintf("%s of what the disks below %s moved was for somebody else.", percent(share), loops),
		Evidence: evidence(
			number{"below.bytes", result.Bytes, read + wrote},
			number{"foreign.bytes", result.Bytes, foreign},
			number{"share", result.Ratio, share},
		),
	}}
}

// passesBelow reports whether all that is counted of the target are loop devices that go past the page cache to files, on
// file systems and disks that write what they are given, once, and little more.
func (f *Facts) passesBelow() bool {
	written := result.Written(f.Target.Layers)
	if !pastPageCache(written) {
		return false
	}
	loops := map[string]bool{}
	for _, l := range written {
		switch l.Kind {
		case result.LoopLayer:
			loops[l.ID] = true
		case result.FilesystemLayer:
			if !slices.Contains(plainFilesystems, l.Type) {
				return false
			}
		case result.DiskLayer:
		case result.MappedLayer:
			if !passes(l, written) || l.Copies > 1 {
				return false
			}
		default:
			return false
		}
	}
	return len(loops) > 0 && !slices.ContainsFunc(f.Target.Counted(), func(name string) bool { return !loops[name] })
}
