package verdict

import (
	"fmt"
	"slices"

	"storagebench.io/storagebench/internal/result"
)

// cachedBelow: a loop device answered from the page cache of its file.
func cachedBelow(f *Facts) []result.Verdict {
	if _, ok := result.InMemory(f.Target.Layers); ok {
		return nil
	}
	written := result.Written(f.Target.Layers)
	i := slices.IndexFunc(written, func(l result.Layer) bool { return l.Kind == result.LoopLayer })
	if i < 0 {
		return nil
	}
	loop := written[i]
	lower := "below"
	if !f.has("below.read.bytes") {
		lower = "others"
	}
	whole := f
	if f.row != nil {
		whole = f.row.whole
	}
	var out []result.Verdict
	for _, d := range []direction{f.reading(), f.writing()} {
		all := whole.inDirection(d.name)
		above := whole.through(all)
		if above < enough || len(d.operations) == 0 {
			continue
		}
		if !f.counted() || !f.has(lower+"."+d.name+".bytes") {
			if loop.DirectIO != nil && !*loop.DirectIO {
				out = append(out, d.each(result.Verdict{
					Name: CachedBelow, Effect: result.Qualifies, Settle: "Attach it with losetup --direct-io=on.",
					Sentence: fmt.Sprintf("%s uses the page cache for its file, and what the disks below it did cannot be seen from here.", loop.ID),
				})...)
			}
			continue
		}
		below := f.value(lower + "." + d.name + ".bytes")
		share := max(0, 1-below/above)
		or := ""
		if f.reduces() {
			or = ", or was compressed"
		}
		sentence := map[string]string{
			"read":  "%s of what %s read came from the page cache of its file, not from the disks below it%s.",
			"write": "%s of what %s wrote was still in the page cache of its file, not on the disks below it%s.",
		}[d.name]
		proof := evidence(
			number{"device.bytes", result.Bytes, above},
			number{"below.bytes", result.Bytes, below},
			number{"share", result.Ratio, share},
		)
		settle := "Attach the loop device with losetup --direct-io=on, or drop the page cache and read more than the memory holds."
		if d.name == "read" && pastPageCache(written) {
			sentence = "%s of what %s read came from no disk below it, but from holes of its file or from memory%s."
			settle = "Write the file's blocks before they are read, on a file system that supports direct I/O."
		}
		if f.row != nil {
			out = append(out, f.row.cachedBelow(d, share*min(1, above/all.bytes), proof, settle, loop.ID)...)
			continue
		}
		e, bad := effect(share)
		if !bad {
			continue
		}
		out = append(out, d.each(result.Verdict{
			Name: CachedBelow, Effect: e, Settle: settle, Evidence: proof,
			Sentence: fmt.Sprintf(sentence, percent(share), loop.ID, or),
		})...)
	}
	return out
}

// pastPageCache reports whether all loop devices of the layers read and write their files past the page cache.
func pastPageCache(layers []result.Layer) bool {
	return !slices.ContainsFunc(layers, func(l result.Layer) bool {
		return l.Kind == result.LoopLayer && (l.DirectIO == nil || !*l.DirectIO)
	})
}

// through is how many bytes of the workload's the loop device moved. What others moved, such as zeroes that
// ext4 writes after its first mount, may have been holes of its file, which need no I/O below.
func (f *Facts) through(d direction) float64 {
	if !f.counted() {
		return d.bytes // the loop device itself is not counted
	}
	return min(d.bytes, f.value("device."+d.name+".bytes")*(1-min(1, f.value("device.foreign.share"))))
}
