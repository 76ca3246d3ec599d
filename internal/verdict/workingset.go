package verdict

import (
	"fmt"
	"slices"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// diskCache is what the cache of any disk of the last twenty years holds, in bytes.
const diskCache = 8 << 20

// again is how many times the same bytes are moved before a cache that holds them decides a number.
const again = 4

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
	if v := slices.Concat(readAgain(f, d, files), writtenAgain(f, files)); v != nil {
		return v
	}
	which := "The files have %s"
	if hot := f.value(result.HotBytes); hot > 0 && hot < files {
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

// readAgain: direct I/O read the same few blocks again and again, all of the files or those that a
// skewed distribution prefers.
func readAgain(f *Facts, d direction, files float64) []result.Verdict {
	v := result.Verdict{Name: WorkingSetTooSmall, Effect: result.Qualifies}
	hot, read := f.value(result.HotBytes), number{"read.bytes", result.Bytes, d.bytes}
	switch {
	case !f.direct() || len(d.operations) == 0:
		return nil
	case files > 0 && files <= diskCache && d.bytes >= again*files:
		v.Settle = "Read files that are larger than the disk's cache, such as 1 GiB."
		v.Sentence = fmt.Sprintf("The same %s were read %.0f times: the cache of the disk itself can hold them.", report.Bytes(files), d.bytes/files)
		v.Evidence = evidence(number{"files.bytes", result.Bytes, files}, read)
	case hot > 0 && hot <= diskCache && result.HotShare*d.bytes >= again*hot:
		v.Settle = "Read with random_distribution=random, or from files so large that what is read most is larger than the disk's cache, such as 1 GiB."
		v.Sentence = fmt.Sprintf("By its random_distribution, the workload reads %s of its files in nine of ten I/Os: the cache of the disk itself can hold them.", report.Bytes(hot))
		v.Evidence = evidence(number{result.HotBytes, result.Bytes, hot}, read)
	default:
		return nil
	}
	return d.each(v)
}

// writtenAgain: direct I/O wrote the same few blocks again and again, and nothing asked the disk to write
// its cache. With syncs each of them has to reach the medium.
func writtenAgain(f *Facts, files float64) []result.Verdict {
	d := f.writing()
	if !f.direct() || f.syncs() || len(d.operations) == 0 || files == 0 || files > diskCache || d.bytes < again*files {
		return nil
	}
	return d.each(result.Verdict{
		Name: WorkingSetTooSmall, Effect: result.Qualifies,
		Settle:   "Write files that are larger than the disk's cache, such as 1 GiB, or sync what is written, as with fdatasync=1.",
		Sentence: fmt.Sprintf("The same %s were overwritten %.0f times without a sync: the cache of the disk itself can hold them, and need not write them.", report.Bytes(files), d.bytes/files),
		Evidence: evidence(number{"files.bytes", result.Bytes, files}, number{"write.bytes", result.Bytes, d.bytes}),
	})
}
