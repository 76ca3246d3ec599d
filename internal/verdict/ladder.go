package verdict

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

const (
	// flatter than twice as long after all writes as after one block: no cache was written.
	flatter = 2
	// turns a second of the fastest spinning disk, 15,000 a minute. With each it can write a block once.
	turns = 15000.0 / 60
	// onlyProof is what settles whether a disk honours flushes.
	onlyProof = "Only a power cut proves it: see docs/how-to/cut-the-power.md."
)

// ladder judges the flushes of a flush ladder, from the strongest evidence to the weakest.
func ladder(f *Facts) []result.Verdict {
	if !f.has("ladder.growth") || len(f.dangers()) > 0 {
		return nil // no ladder, or one of which UnsafeConfiguration tells the cause
	}
	if _, ok := result.InMemory(f.Target.Layers); ok {
		return nil
	}
	of := func(name string, e result.Effect, sentence string, numbers ...number) []result.Verdict {
		v := result.Verdict{Name: name, Effect: e, Sentence: sentence + ".", Settle: onlyProof, Evidence: evidence(numbers...)}
		return direction{operations: slices.DeleteFunc(slices.Clone(f.operations()), func(op string) bool { return !f.isSync(op) })}.each(v)
	}
	leaves := result.Leaves(result.Written(f.Target.Layers))
	volatile := slices.DeleteFunc(slices.Clone(leaves), func(l result.Layer) bool { return l.WriteCache != "write back" })
	growth, order := f.value("ladder.growth"), f.value("ladder.order")
	flat := growth < flatter
	times := []number{
		{"flush.after.least", result.Seconds, f.value("ladder.least")},
		{"flush.after.most", result.Seconds, f.value("ladder.most")},
		{"growth", result.Ratio, growth},
		{"order", result.Ratio, order},
	}
	syncs, flushes := f.value("ladder.syncs"), f.value("device.flush.count")
	switch {
	case len(volatile) > 0 && f.has("device.flush.count") && syncs > 0 && flushes < syncs/2:
		return of(MayIgnoreFlushes, result.Invalidates,
			fmt.Sprintf("This storage may ignore flushes: of %s syncs only %s reached the disks as flushes, although %s has a volatile cache", report.Number(syncs), report.Number(flushes), volatile[0].ID),
			number{"syncs", result.Count, syncs}, number{"flushes", result.Count, flushes})
	case slices.ContainsFunc(leaves, spins) && f.value("fdatasync.rate") > 1.5*turns:
		return of(MayIgnoreFlushes, result.Qualifies,
			fmt.Sprintf("This disk may ignore flushes: one block was made durable %s times a second, and a spinning disk can write it %.0f times at most; its cache may survive a power cut", report.Number(f.value("fdatasync.rate")), turns),
			number{"rate", result.PerSecond, f.value("fdatasync.rate")}, number{"turns", result.PerSecond, turns})
	case f.loopCache() != "":
		return of(FlushesUnproven, result.Qualifies, fmt.Sprintf("A flush of %s writes the page cache of its file, which takes the time that was measured; whether the disk below honours flushes does not show", f.loopCache()), times...)
	case flat && len(volatile) > 0:
		return of(MayIgnoreFlushes, result.Qualifies,
			fmt.Sprintf("This disk may ignore flushes: one takes %s after %s of writes and %s after one block; or its cache survives a power cut, or was written already", report.Seconds(f.value("ladder.most")), report.Bytes(f.value("ladder.most.bytes")), report.Seconds(f.value("ladder.least"))),
			times...)
	case len(leaves) == 0 || slices.ContainsFunc(leaves, hidden):
		return of(FlushesUnproven, result.Qualifies, "Whether flushes reach the medium cannot be seen from here: "+where(leaves), times...)
	case len(volatile) == 0:
		return of(FlushesUnproven, result.Qualifies, "The disks claim to have no volatile cache, so that the kernel sends no flush; whether that is true cannot be seen from here", times...)
	case !f.has("device.flush.count"):
		return of(FlushesUnproven, result.Qualifies, "The kernel does not count the flushes of the target's disks, so that nothing shows whether each sync sends one", times...)
	default:
		return nil
	}
}

// loopCache is the loop device of the target that uses the page cache for its file, if there is one.
func (f *Facts) loopCache() string {
	for _, l := range slices.Concat(result.Written(f.Target.Layers), result.Written(f.After)) {
		if l.Kind == result.LoopLayer && l.DirectIO != nil && !*l.DirectIO {
			return l.ID
		}
	}
	return ""
}

// hidden reports whether the disks of a layer are on another machine, or below a virtual one.
func hidden(l result.Layer) bool {
	return l.Kind == result.RemoteLayer || l.Kind == result.UnknownLayer || strings.Contains(l.Note, "cannot be seen")
}

// where says what hides the disks.
func where(leaves []result.Layer) string {
	if i := slices.IndexFunc(leaves, hidden); i >= 0 {
		return strings.TrimSpace(leaves[i].ID + " (" + leaves[i].Type + ") hides its caches")
	}
	return "no disk is known below the target"
}
