package verdict

import (
	"fmt"
	"math"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// faint is background, in bytes per second, that disturbs no trial: logs, and the journal of a
// file system, which would be a large share of what a trial of small synced files moves.
const faint = 256 << 10

// backgroundIO: the kernel does something of its own on the storage, or the disks were busy before
// the trial began.
func backgroundIO(f *Facts) []result.Verdict {
	names := f.activities(false)
	if v := f.busyBefore(); v != nil {
		if all := f.activities(true); all != "" {
			v[0].Sentence += " The storage was busy with: " + all + "."
		}
		return v
	}
	if names == "" {
		return nil
	}
	return []result.Verdict{{
		Name: BackgroundIO, Effect: result.Qualifies, Settle: "Measure again when it has ended.",
		Sentence: "While the trial ran, the storage was also busy with: " + names + ".",
	}}
}

// activities are what the kernel does on the layers, in words; those that may be about another file
// system only if that is asked for.
func (f *Facts) activities(maybe bool) string {
	var out []string
	for _, a := range f.Activities {
		if a.Maybe && !maybe {
			continue
		}
		words := a.What + " of " + strings.TrimPrefix(a.On, "fs:")
		if a.Done > 0 {
			words += " (" + percent(a.Done) + " done)"
		}
		if a.Maybe {
			words += " (or of another file system of this machine)"
		}
		out = append(out, words)
	}
	return strings.Join(out, ", ")
}

// busyBefore: the disks were busy before the trial began.
func (f *Facts) busyBefore() []result.Verdict {
	duration := f.inAll("device.seconds")
	moved := f.inAll("device.read.bytes") + f.inAll("device.write.bytes")
	if duration <= 0 || moved <= 0 {
		return nil
	}
	background := f.value("background.read.bytes") + f.value("background.write.bytes")
	share := background * duration / moved
	if share <= 0.05 || background < faint {
		return nil
	}
	e := result.Qualifies
	if share > 0.2 {
		e = result.Invalidates
	}
	return []result.Verdict{{
		Name: BackgroundIO, Effect: e, Settle: "Find out who uses the disks, and measure again when they are idle.",
		Sentence: fmt.Sprintf("Right before the trial the disks were moving %s per second, which is %s of what they moved during it.", report.Bytes(background), percent(min(1, share))),
		Evidence: evidence(
			number{"background", result.BytesPerSecond, background},
			number{"during", result.BytesPerSecond, moved / duration},
			number{"share", result.Ratio, share},
		),
	}}
}

// noisyNeighbour: the disks did more than the workload asked for.
func noisyNeighbour(f *Facts) []result.Verdict {
	if !f.counted() || !f.direct() || f.reduces() || !f.plainPath() {
		return nil
	}
	plain := f.plainFilesystem()
	var foreign, all float64
	for _, d := range []direction{f.reading(), f.writing()} {
		moved := f.value("device." + d.name + ".bytes")
		own := d.bytes
		if d.name == "write" {
			// Journals and metadata are the workload's own, and can be more than its data. What only
			// reads has none worth the name.
			writes := len(d.operations) > 0
			if !plain || f.syncsOften() || !writes && !f.onlyReads() {
				continue
			}
			own = f.toDisks(d.bytes)
		}
		all += moved
		foreign += max(0, moved-own-metadata)
	}
	if all == 0 || foreign/all <= 0.05 {
		return nil
	}
	share, e := foreign/all, result.Qualifies
	if share > 0.2 {
		e = result.Invalidates
	}
	sentence := fmt.Sprintf("%s of what the disks moved was not the workload's.", percent(share))
	if names := f.activities(true); names != "" {
		sentence += " The storage was busy with: " + names + "."
	}
	return []result.Verdict{{
		Name: NoisyNeighbour, Effect: e, Settle: "Find out who else uses the disks, and measure again without it.",
		Sentence: sentence,
		Evidence: evidence(
			number{"device.bytes", result.Bytes, all},
			number{"foreign.bytes", result.Bytes, foreign},
			number{"share", result.Ratio, share},
		),
	}}
}

// fileBlock is the block of ext4 and XFS, as a rule.
const fileBlock = 4 << 10

// toDisks is how many bytes the disks write at most for so many that the workload wrote, with the metadata of the file system.
// Direct I/O pads the first write to a block of a file that nothing was written to before.
func (f *Facts) toDisks(bytes float64) float64 {
	padded := 1.0
	overwrites := len(f.Measurement.Files) > 0 && allOf(f.Measurement.Files, func(c result.FileChoice) bool { return c.Files == result.Overwrite })
	if n := f.writes(); f.Target.FilesystemType != "" && !overwrites && !math.IsInf(n, 1) {
		padded = max(1, fileBlock*n/max(1, f.inAll("write.bytes")))
	}
	return 1.3 * padded * bytes * f.copies()
}

// oftenFlushed is how many flushes a second are somebody's who syncs: the journal of a file system commits every few
// seconds. flushesOfSync is how many of a disk a sync takes at most: for the data, and before and after the journal's commit.
const oftenFlushed, flushesOfSync = 10, 4

// flushesOfOthers: the disks were busy with flushes, of which fio's syncs explain none or few. They move no data, so that no other check of
// neighbours sees them.
func flushesOfOthers(f *Facts) []result.Verdict {
	fio := sequential.MatchString(f.Measurement.Input) || random.MatchString(f.Measurement.Input)
	duration, flushes := f.value("device.seconds"), f.value("device.flush.count")
	flushes -= flushesOfSync * f.syncCount() * float64(max(1, len(f.Target.Devices)))
	if !fio || !f.direct() || !f.plainFilesystem() || duration <= 0 || flushes < oftenFlushed*duration {
		return nil
	}
	share := min(1, flushes*f.value("device.flush.await")/duration)
	if share <= 0.05 {
		return nil
	}
	return []result.Verdict{{
		Name: NoisyNeighbour, Effect: result.Qualifies, Settle: "Find out who else syncs on the disks, and measure again without it.",
		Sentence: fmt.Sprintf("The disks flushed their caches %.0f times per second, for %s of the time, and the workload's own syncs do not explain that.", flushes/duration, percent(share)),
		Evidence: evidence(
			number{"flushes", result.PerSecond, flushes / duration},
			number{"share", result.Ratio, share},
		),
	}}
}
