package verdict

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// counted reports whether the kernel counts what the target's disks do. What it does not count is no
// metric, which is not the same as 0.
func (f *Facts) counted() bool { return f.has("device.read.bytes") && f.has("device.write.bytes") }

// readShare is the share of what was read that no disk of the target read.
func (f *Facts) readShare() (share float64, proof result.Metrics, ok bool) {
	d := f.reading()
	if len(d.operations) == 0 || d.bytes < some {
		return 0, nil, false
	}
	arc, proof, ok := f.arcShare()
	// Over a volume of ZFS, or a loop device on one of its files, there is another cache.
	if ok && (f.Target.FilesystemType == "zfs" || !f.counted()) || !f.counted() {
		return arc, proof, ok
	}
	disks, foreign := f.value("device.read.bytes"), f.foreignReads()
	if share = max(0, 1-max(0, disks-foreign)/d.bytes); arc > share {
		return arc, proof, true
	}
	proof = evidence(
		number{"application.bytes", result.Bytes, d.bytes},
		number{"device.bytes", result.Bytes, disks},
		number{"share", result.Ratio, share},
	)
	if foreign > 0 {
		proof.Set("foreign.bytes", result.Bytes, foreign)
	}
	return share, proof, true
}

// arcShare is the share of reads that ZFS's cache answered.
func (f *Facts) arcShare() (share float64, proof result.Metrics, ok bool) {
	hits, misses := f.value("zfs.arc.hits"), f.value("zfs.arc.misses")
	if hits+misses == 0 {
		return 0, nil, false
	}
	share = hits / (hits + misses)
	return share, evidence(
		number{"arc.hits", result.Count, hits},
		number{"arc.misses", result.Count, misses},
		number{"share", result.Ratio, share},
	), true
}

// copies is how many copies of each block the target writes.
func (f *Facts) copies() float64 { return float64(max(1, f.Target.Copies())) }

// metadata is what a file system may write for itself when it is synced.
const metadata = 4 << 20

// writeShare is the share of what was written that had not reached a disk when the clock
// stopped, and never that never did.
func (f *Facts) writeShare() (share, never float64, proof result.Metrics, ok bool) {
	d := f.writing()
	if len(d.operations) == 0 || d.bytes < some || !f.counted() {
		return 0, 0, nil, false
	}
	atEnd := f.value("device.write.bytes") / f.copies()
	later := f.value("device.drain.bytes") / f.copies()
	share = max(0, 1-atEnd/d.bytes)
	// A journal may have made up for what was missing at the end. But the sync also wrote what
	// other programs had left in memory, and a workload that syncs, or goes past the page cache,
	// leaves nothing of its own.
	if !f.direct() && !f.leavesNothing() {
		share = max(share, min(1, (later-metadata)/d.bytes))
	}
	never = max(0, 1-(atEnd+later)/d.bytes)
	return share, never, evidence(
		number{"application.bytes", result.Bytes, d.bytes},
		number{"device.bytes", result.Bytes, atEnd},
		number{"device.bytes.later", result.Bytes, later},
		number{"share", result.Ratio, share},
	), true
}

// fromMemory: the disks moved less than the application.
func fromMemory(f *Facts) []result.Verdict {
	if _, ok := result.InMemory(f.Target.Layers); ok {
		return nil
	}
	if f.row != nil && !f.reduces() {
		return f.row.fromMemory(f)
	}
	var out []result.Verdict
	if share, proof, ok := f.readShare(); ok && !f.reduces() {
		share -= f.thinShare(share)
		if e, bad := effect(share); bad {
			d, who := f.reading(), "were read"
			if d.together {
				e, who = worstOf(share), "all tests together read"
			}
			sentence := fmt.Sprintf("%s of the %s that %s came from %s.", percent(share), report.Bytes(d.bytes), who, f.notTheDisks())
			out = append(out, d.each(result.Verdict{
				Name: FromMemory, Effect: e, Sentence: sentence, Evidence: proof,
				Settle: howToReadDisks,
			})...)
		}
	}
	if share, _, proof, ok := f.writeShare(); ok && !f.reduces() {
		if e, bad := effect(share); bad {
			d := f.writing()
			sentence := fmt.Sprintf("%s of the %s that were written were still in memory when the clock stopped.", percent(share), report.Bytes(d.bytes))
			if d.together {
				e = worstOf(share)
			}
			out = append(out, d.each(result.Verdict{
				Name: FromMemory, Effect: e, Sentence: sentence, Evidence: proof,
				Settle: f.howToSync(),
			})...)
		}
	}
	return out
}

const (
	howToReadAll  = "Mount without compression, or use direct=1 and data that does not compress."
	howToWriteAll = "Mount without compression, or write data that does not compress."
)

const howToReadDisks = "Use direct=1, or read at least twice as much as the memory holds; on ZFS, limit the ARC or set primarycache=metadata."

// howToSync says it in the terms of the workload: fio has an input.
func (f *Facts) howToSync() string {
	how := "Use direct=1, or end_fsync=1"
	if f.Measurement.Input == "" && !f.Imported {
		how = "Make the workload sync what it writes (sync of filesync, durability of postmark, direct of others)"
	}
	return how + ", so that the clock stops when the data is on the disk."
}

// worstOf is the effect of a share that several tests have together. A test may be free of it
// as long as the disks moved as much as one of them.
func worstOf(share float64) result.Effect {
	if share >= 0.9 {
		return result.Invalidates
	}
	return result.Qualifies
}

// A drain that finds nothing to write still takes a flush of the disk or two. Of a workload that goes
// through memory and syncs nothing there is something to write, as a rule, and only what a fast disk
// needs for a flush is left out.
const (
	drainOfNothing = 0.05
	drainOfSome    = 0.005
)

// drained: an engine wrote to memory, and only then to the disk, which it timed apart.
func drained(f *Facts) []result.Verdict {
	took, own := f.value("drain.duration"), f.value("phase.transactions.duration")
	d := f.writing()
	if rate := f.value("write.bandwidth"); own == 0 && rate > 0 {
		own = f.value("write.bytes") / rate
	}
	least := drainOfNothing
	if !f.direct() && !slices.ContainsFunc(f.operations(), func(op string) bool { return op != "write.durable" && f.isSync(op) }) {
		least = drainOfSome
	}
	if took <= least || own <= 0 || d.bytes < enough {
		return nil
	}
	share := took / (took + own)
	e, bad := effect(share)
	if !bad {
		return nil
	}
	return d.each(result.Verdict{
		Name: FromMemory, Effect: e,
		Sentence: fmt.Sprintf("After the clock stopped it took %.2g s to write what was still in memory: %s of the whole time.", took, percent(share)),
		Evidence: evidence(
			number{"drain", result.Seconds, took},
			number{"measured", result.Seconds, own},
			number{"share", result.Ratio, share},
		),
		Settle: "Use the durable rate, or make the workload sync what it writes.",
	})
}

// thin reports whether some of the files are holes or unwritten extents, so that the disks read less.
func (f *Facts) thin() bool { return f.value("files.thin") > 0.01 }

// thinShare is how much of the share of reads that no disk did holes explain: what direct I/O misses is theirs, as memory
// does not answer it; of other reads, as many as there are holes in the files.
func (f *Facts) thinShare(share float64) float64 {
	switch {
	case !f.thin():
		return 0
	case f.direct():
		return share
	default:
		return min(share, f.value("files.thin"))
	}
}

// notTheDisks is where reads came from that no disk did, in words.
func (f *Facts) notTheDisks() string {
	if f.thin() {
		return "memory, or from parts of the files that were never written, not from the disks"
	}
	return "memory, not from the disks"
}

// thinReads: what was read was never written, which needs no I/O.
func thinReads(f *Facts) []result.Verdict {
	whole := f
	if f.row != nil {
		whole = f.row.whole
	}
	share, proof, ok := whole.readShare()
	if !whole.thin() || !ok {
		return nil
	}
	share = whole.thinShare(share)
	proof.Set("files.thin", result.Ratio, whole.value("files.thin"))
	v := result.Verdict{Name: ThinReads, Evidence: proof, Settle: "Write the files before they are read: prefill: Auto does that."}
	if f.row != nil {
		return f.row.part(share, "read", nobody).verdicts(v, f.reading(), "came", "from parts of the files that were never written, which needs no I/O")
	}
	e, bad := effect(share)
	if !bad {
		return nil
	}
	v.Effect, v.Sentence = e, fmt.Sprintf("%s of what was read needed no I/O: %s of the files was never written.", percent(share), percent(whole.value("files.thin")))
	return f.reading().each(v)
}

// compressing are options of file systems that compress: of btrfs, of f2fs, and of bcachefs.
var compressing = []string{"compress", "compress-force", "compress_algorithm", "compression", "background_compression"}

// reduces reports whether a layer that holds the target's data compresses, so that disks that move less than
// the application are no sign of memory.
func (f *Facts) reduces() bool {
	return slices.ContainsFunc(result.Written(f.Target.Layers), func(l result.Layer) bool {
		for option := range strings.SplitSeq(l.Options, ",") {
			name, value, _ := strings.Cut(option, "=")
			if slices.Contains(compressing, name) && value != "no" && value != "none" {
				return true
			}
		}
		return false
	})
}

// repeating are options of fio with which the data repeats itself.
var repeating = []string{"zero_buffers", "buffer_compress_percentage", "buffer_pattern", "verify_pattern", "dedupe_percentage"}

// dataReduced: the storage kept less than was written, or could.
func dataReduced(f *Facts) []result.Verdict {
	if f.row != nil && f.reduces() {
		return f.row.dataReduced(f)
	}
	var out []result.Verdict
	if f.reduces() {
		if share, proof, ok := f.readShare(); ok {
			if e, bad := effect(share); bad {
				out = append(out, f.reading().each(result.Verdict{
					Name: DataReduced, Effect: e, Evidence: proof, Settle: howToReadAll,
					Sentence: fmt.Sprintf("The disks read %s less than the workload: the file system compresses, or the data came from memory.", percent(share)),
				})...)
			}
		}
		if share, never, proof, ok := f.writeShare(); ok {
			v := result.Verdict{
				Name: DataReduced, Evidence: proof, Settle: howToWriteAll,
				Sentence: fmt.Sprintf("%s of what was written never reached the disks: the file system compresses.", percent(never)),
			}
			switch {
			case f.removes():
				v.Name, v.Settle = FromMemory, f.howToSync()
				v.Sentence = fmt.Sprintf("%s of what was written never reached the disks: it was removed before that, or compressed.", percent(share))
			case share-never > 0.1:
				v.Name, v.Sentence = FromMemory, fmt.Sprintf("%s of what was written was still in memory when the clock stopped, or was compressed.", percent(share))
			}
			if e, bad := effect(share); bad {
				v.Effect = e
				out = append(out, f.writing().each(v)...)
			}
		}
	}
	return out
}

// removes reports whether the workload removes files that nothing has synced.
func (f *Facts) removes() bool {
	ops := f.operations()
	return slices.ContainsFunc([]string{"unlink", "delete"}, func(op string) bool { return slices.Contains(ops, op) }) && !f.leavesNothing()
}

// repeats: the data repeats itself.
func repeats(f *Facts) []result.Verdict {
	for line := range strings.Lines(f.Measurement.Input) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		// fio fills a buffer once, and changes a little of it for each write unless it is told not to.
		same := name == "scramble_buffers" && value == "0" && !strings.Contains(f.Measurement.Input, "\nrefill_buffers=1")
		if same || slices.Contains(repeating, name) && value != "0" {
			d := f.writing()
			if len(d.operations) == 0 {
				d = f.reading()
			}
			return d.each(result.Verdict{
				Name: DataReduced, Effect: result.Qualifies, Settle: "Measure again with random data, and compare.",
				Sentence: fmt.Sprintf("The data repeats itself (%s=%s): storage that compresses or removes duplicates keeps less of it.", name, value),
			})
		}
	}
	return nil
}

// directIOFallback: direct I/O was asked for, and went through the page cache.
func directIOFallback(f *Facts) []result.Verdict {
	d := f.Measurement.DirectIO
	if d == nil || !d.Requested || d.Effective != result.CachedAnyway {
		return nil
	}
	if _, ok := result.InMemory(f.Target.Layers); ok || len(cachedBelow(f)) > 0 {
		return nil // that is said
	}
	e := result.Invalidates
	if f.counted() {
		e = result.Qualifies // the share of memory is known
	}
	return []result.Verdict{{
		Name: DirectIOFallback, Effect: e, Settle: "Measure a file system, and with an engine, that supports direct I/O; or read at least twice as much as the memory holds.",
		Sentence: "Direct I/O was asked for, but the data went through the page cache: " + d.Evidence + ".",
	}}
}
