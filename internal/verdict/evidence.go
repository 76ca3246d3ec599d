package verdict

import (
	"path"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// noDeviceEvidence: nothing shows what the disks did.
func noDeviceEvidence(f *Facts) []result.Verdict {
	if f.Imported {
		return []result.Verdict{{
			Name: NoDeviceEvidence, Effect: result.Qualifies, Settle: "Measure it with a StorageBenchmark, which watches the disks.",
			Sentence: "The tool's output does not show whether the data came from a disk or from memory.",
		}}
	}
	if _, ok := result.InMemory(f.Target.Layers); ok || f.counted() {
		return nil
	}
	if f.mixed && !f.has("zfs.arc.hits") {
		return []result.Verdict{{
			Name: NoDeviceEvidence, Effect: result.Qualifies, Settle: "Measure each job in a workload of its own, for some seconds or more, without unlink, pre_read and latency_target.",
			Sentence: "Nothing shows whether the data came from a disk or from memory: the tool used the disks before the part that it measured, too, and nobody can tell how much.",
		}}
	}
	why, settle := f.Target.DeviceNote, "Measure on the machine that has the disks, or where the kernel counts their I/O."
	if names := f.uncounted(); len(names) > 0 {
		why = "the kernel does not count the I/O of " + strings.Join(names, ", ")
		settle = "Let the kernel count it, and measure again: echo 1 > /sys/block/" + names[0] + "/queue/iostats. Some drivers count nothing."
	}
	if f.has("zfs.arc.hits") {
		return f.noZFSEvidence(why)
	}
	return []result.Verdict{{
		Name: NoDeviceEvidence, Effect: result.Qualifies, Settle: settle,
		Sentence: "Nothing shows whether the data came from a disk or from memory: " + why + ".",
	}}
}

// noZFSEvidence is what ZFS's own counters leave open. They count reads, but not those of mapped files that
// the page cache answers; and of writes only what is synced.
func (f *Facts) noZFSEvidence(why string) []result.Verdict {
	if why != "" {
		why = ": " + why
	}
	var out []result.Verdict
	if f.value("zfs.arc.hits")+f.value("zfs.arc.misses") == 0 {
		out = f.reading().each(result.Verdict{
			Name: NoDeviceEvidence, Effect: result.Qualifies, Settle: "Read the files without mapping them (not ioengine=mmap), so that ZFS counts the reads.",
			Sentence: "Nothing shows whether the data came from a disk or from memory, as ZFS counted no reads of data" + why + ".",
		})
	}
	if !f.writesAreTold() {
		out = append(out, f.writing().each(result.Verdict{
			Name: NoDeviceEvidence, Effect: result.Qualifies, Settle: "Make the workload sync what it writes, as with end_fsync=1, so that the clock stops when the data is on the disk.",
			Sentence: "Nothing was synced, and nothing shows how much of what was written had reached a disk when the clock stopped" + why + ".",
		})...)
	}
	return out
}

// writesAreTold reports whether it is known without counted disks that writes reached them, or how many did not:
// they were synced one by one or at the end, as bonnie++ does and iozone with -e, went past all caches, or
// the engine timed what was left in memory (drained).
func (f *Facts) writesAreTold() bool {
	if f.direct() || f.leavesNothing() || f.has("drain.duration") {
		return true
	}
	if c := f.Measurement.Command; len(c) > 0 && (path.Base(c[0]) == "bonnie++" || path.Base(c[0]) == "iozone" && slices.Contains(c, "-e")) {
		return true
	}
	// With sync=always, ZFS commits each of them.
	return f.value("write.ios") > 0 && f.value("zfs.zil.commits") >= f.value("write.ios")
}

// uncounted are the disks that the kernel does not count, or did not to the end.
func (f *Facts) uncounted() []string {
	after := f.Target
	if len(f.After) > 0 {
		after.Layers = f.After
	}
	names := slices.Concat(f.Target.Uncounted(), after.Uncounted())
	if len(names) == 0 && f.Target.DeviceNote == "" {
		for _, d := range f.Target.Devices {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
