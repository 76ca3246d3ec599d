package verdict

import (
	"fmt"
	"slices"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// diskCache is what the cache of any disk of the last twenty years holds, in bytes.
const diskCache = 8 << 20

// repeats is how many times the same bytes are moved before a cache that holds them decides a number.
const repeats = 4

// workingSet: caches in the path hold all that was read, and nothing shows whether they did.
func workingSet(f *Facts) []result.Verdict {
	d := f.reading()
	if s := f.Measurement.Size; s != nil && s.TooSmall && len(d.operations) > 0 {
		all, cache := float64(s.Bytes)*float64(s.Parts), float64(s.CacheBytes)
		return d.each(result.Verdict{
			Name: WorkingSetTooSmall, Effect: result.Qualifies, Settle: fmt.Sprintf("Give a size of at least %s in all, on a target with room for it, or use direct=1.", report.Bytes(2*cache)),
			Sentence: fmt.Sprintf("The size that was chosen, %s in all, is less than twice the %s that caches in the path can hold.", report.Bytes(all), report.Bytes(cache)),
			Evidence: evidence(number{"size.bytes", result.Bytes, all}, number{"cache.bytes", result.Bytes, cache}),
		})
	}
	files := f.value("files.bytes")
	if v := slices.Concat(again(f, d, files), again(f, f.writing(), files)); v != nil {
		return v
	}
	which := "The files have %s"
	if hot := f.value("read" + result.Hot); hot > 0 && hot < files {
		files, which = hot, "Nine tenths of the reads go to %s of the files"
	}
	memory := float64(f.Memory.TotalBytes)
	if l := float64(f.Memory.LimitBytes); l > 0 {
		memory = min(memory, l)
	}
	buffered := f.Measurement.DirectIO == nil || f.Measurement.DirectIO.Effective != result.Direct
	if !buffered || f.counted() || len(d.operations) == 0 || files == 0 || memory == 0 || files >= 2*memory {
		return nil
	}
	settle := fmt.Sprintf("Read at least %s, or use direct=1.", report.Bytes(2*memory))
	if f.Measurement.DirectIO != nil && f.Measurement.DirectIO.Requested {
		settle = fmt.Sprintf("Read at least %s: a cache may answer direct I/O here.", report.Bytes(2*memory))
	}
	return d.each(result.Verdict{
		Name: WorkingSetTooSmall, Effect: result.Qualifies, Settle: settle,
		Sentence: fmt.Sprintf(which+", which the memory of %s can hold.", report.Bytes(files), report.Bytes(memory)),
		Evidence: evidence(number{"files.bytes", result.Bytes, files}, number{"memory.bytes", result.Bytes, memory}),
	})
}

// again: direct I/O moved the same few blocks again and again: all of the files, those that a skewed
// distribution prefers, or a part of a device. Of writes with syncs nothing is said, as each sync has to
// reach the medium.
func again(f *Facts, d direction, files float64) []result.Verdict {
	same, measure, share := files, "files.bytes", 1.0
	if hot := f.value(d.name + result.Hot); hot > 0 && (files == 0 || hot < files) {
		same, measure, share = hot, d.name+result.Hot, result.HotShare
	}
	writes := d.name == "write"
	if !f.direct() || len(d.operations) == 0 || same == 0 || same > diskCache || share*d.bytes < repeats*same || writes && f.syncs() {
		return nil
	}
	v := result.Verdict{
		Name: WorkingSetTooSmall, Effect: result.Qualifies,
		Settle:   "Read files that are larger than the disk's cache, such as 1 GiB.",
		Sentence: fmt.Sprintf("The same %s were read %.0f times: the cache of the disk itself can hold them.", report.Bytes(same), d.bytes/same),
		Evidence: evidence(number{measure, result.Bytes, same}, number{d.name + ".bytes", result.Bytes, d.bytes}),
	}
	if writes {
		v.Settle = "Write files that are larger than the disk's cache, such as 1 GiB, or sync what is written, as with fdatasync=1."
		v.Sentence = fmt.Sprintf("The same %s were written %.0f times without a sync: the cache of the disk itself can hold them, and need not write them.", report.Bytes(same), d.bytes/same)
	}
	if share < 1 {
		v.Settle = "Give a size that is larger than the disk's cache, such as 1 GiB, and use it evenly (random_distribution=random)."
		v.Sentence = fmt.Sprintf("At least nine of ten %ss go to the same %s: the cache of the disk itself can hold them.", d.name, report.Bytes(same))
	}
	return d.each(v)
}
