package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// barriers are options of file systems with which a sync does not flush the disk's cache: of most, of overlay, of f2fs,
// of reiserfs, of bcachefs, and of cifs, which then does not ask its server to.
var barriers = []string{
	"nobarrier", "barrier=0", "volatile", "fsync=volatile", "fsync_mode=nobarrier", "barrier=none", "journal_flush_disabled", "nostrictsync",
}

// dangers returns what makes an acknowledged write unsafe, in words.
func (f *Facts) dangers() []string {
	var out []string
	before, after := result.Written(f.Target.Layers), result.Written(f.After)
	for _, l := range slices.Concat(before, after) {
		for _, option := range barriers {
			if l.HasOption(option) {
				out = append(out, fmt.Sprintf("%s on %s is mounted with %s, so that a sync does not flush the disk's cache", l.Type, strings.TrimPrefix(l.ID, "fs:"), option))
			}
		}
		if l.WriteCache == "write through" && l.DeviceCache == "write back" {
			out = append(out, fmt.Sprintf("the cache of %s is volatile, and the kernel does not flush it: its queue/write_cache says write through", l.ID))
		}
	}
	out = append(out, dropped(before)...)
	out = append(out, dropped(after)...)
	for _, t := range f.Tunables {
		if risky(t) {
			out = append(out, fmt.Sprintf("the variant sets %s to %s", t.Name, t.During))
		}
	}
	if f.value("zfs.nocacheflush") > 0 {
		out = append(out, "zfs_nocacheflush is 1, so that ZFS does not flush the disks' caches")
	}
	if f.has("zfs.zil.commits") && f.value("zfs.zil.commits") == 0 && f.synced() > 10 {
		out = append(out, "ZFS wrote nothing to its intent log although the workload synced: its dataset or volume has sync=disabled")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// stacked are types of mapped devices that are write back over a disk that is, unless somebody changed either of
// them since: device mapper asks the devices below, and md always is. Over other disks they may be either.
var stacked = []string{"lvm", "crypt", "multipath", "partition", "dm", "md", "linear", "raid0", "raid1", "raid4", "raid5", "raid6", "raid10"}

// dropped returns the mapped devices at which flushes end although a disk below has a volatile cache, in words. The
// kernel sends none through a device that is write through.
func dropped(layers []result.Layer) []string {
	var out []string
	for _, l := range layers {
		if l.Kind != result.MappedLayer || l.WriteCache != "write through" || !slices.Contains(stacked, l.Type) {
			continue
		}
		if disk := volatileBelow(layers, l, map[string]bool{}); disk != "" {
			out = append(out, fmt.Sprintf("the cache of %s is volatile, and %s above it drops the flushes: its queue/write_cache says write through", disk, l.ID))
		}
	}
	return out
}

// volatileBelow returns the first disk or loop device below mapped ones that has a volatile cache; "": none has.
func volatileBelow(layers []result.Layer, l result.Layer, seen map[string]bool) string {
	for _, below := range layers {
		if !slices.Contains(l.Below, below.ID) || seen[below.ID] {
			continue
		}
		seen[below.ID] = true
		if below.Kind != result.MappedLayer {
			if cmp.Or(below.DeviceCache, below.WriteCache) == "write back" {
				return below.ID
			}
			continue
		}
		if disk := volatileBelow(layers, below, seen); disk != "" {
			return disk
		}
	}
	return ""
}

// risky reports whether a tunable stops flushes.
func risky(t result.Tunable) bool {
	name, value := strings.ToLower(t.Name), strings.ToLower(t.During)
	switch {
	case strings.Contains(name, "nocacheflush"):
		return value == "1"
	case strings.HasSuffix(name, "sync") && strings.HasPrefix(name, "zfs"):
		return value == "disabled"
	case name == "block.queue.write_cache":
		return value == "write through"
	case name == "scsi.disk.cache_type":
		return value == "temporary write through"
	default:
		return false
	}
}

// onlyStarted reports whether fio's syncs only have the kernel begin to write, with sync_file_range.
func (f *Facts) onlyStarted() bool {
	return f.sets("sync_file_range") && !f.sets("sync", "fsync", "fdatasync")
}

// sets reports whether a job of fio has one of these options switched on.
func (f *Facts) sets(options ...string) bool {
	for line := range strings.Lines(f.Measurement.Input) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if slices.Contains(options, name) && value != "0" && value != "none" {
			return true
		}
	}
	return false
}

// isSync reports whether an operation ends when its data is on the disk.
func (f *Facts) isSync(op string) bool {
	if op == "filesync" && f.has(result.FilesSynced) {
		return f.value(result.FilesSynced) > 0
	}
	if op == "sync" && f.onlyStarted() {
		return false
	}
	return slices.Contains([]string{"sync", "filesync", "write.durable", "fdatasync", "fsync", "dsync", "fua", "flush"}, op)
}

// onlyStarts: fio's syncs do not make data durable.
func onlyStarts(f *Facts) []result.Verdict {
	if _, ok := result.InMemory(f.Target.Layers); ok || !f.onlyStarted() || !slices.Contains(f.operations(), "sync") {
		return nil
	}
	return []result.Verdict{{
		Name: UnsafeConfiguration, Effect: result.Invalidates, Operation: "sync", Settle: "Use fdatasync or fsync.",
		Sentence: "What fio times as syncs is sync_file_range, after which data can be lost when the power fails: it writes no metadata, and does not flush the disk's cache.",
	}}
}

// unsafe: what was acknowledged can be lost.
func unsafe(f *Facts) []result.Verdict {
	if _, ok := result.InMemory(f.Target.Layers); ok {
		return nil
	}
	var out []result.Verdict
	dangers := f.dangers()
	if len(dangers) == 0 {
		return nil
	}
	for _, op := range f.operations() {
		v := result.Verdict{
			Name: UnsafeConfiguration, Effect: result.Qualifies, Operation: op,
			Sentence: "What was acknowledged can be lost when the power fails: " + strings.Join(dangers, "; ") + ".",
			Settle:   "Measure with the settings that you would use in production.",
		}
		switch {
		case isRead(op) || strings.HasPrefix(op, "stat"):
			continue
		case f.isSync(op) || f.syncs():
			v.Effect = result.Invalidates
		}
		out = append(out, v)
	}
	return out
}

// toolErrors: some operations failed.
func toolErrors(f *Facts) []result.Verdict {
	failed := func(op, metric, sentence string) []result.Verdict {
		n := f.value(metric)
		if n == 0 {
			return nil
		}
		return []result.Verdict{{
			Name: ToolErrors, Effect: result.Invalidates, Operation: op, Evidence: evidence(number{"errors", result.Count, n}),
			Sentence: fmt.Sprintf(sentence, n), Settle: "See the tool's output, and mend what fails.",
		}}
	}
	out := failed("", "errors", "%.0f operations failed, and the tool does not say which.")
	for _, op := range f.operations() {
		out = append(out, failed(op, op+".errors", "%.0f of these operations failed.")...)
	}
	return out
}
