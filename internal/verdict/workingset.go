package verdict

import (
	"fmt"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// diskCache is what the cache of any disk of the last twenty years holds, in bytes.
const diskCache = 8 << 20

// sameTimes is how many times the same bytes are moved before a cache that holds them decides a number.
const sameTimes = 4

// workingSet: caches in the path hold all that was moved, and nothing shows whether they did.
func workingSet(f *Facts) []result.Verdict {
	files := f.value(result.FilesBytes)
	read := again(f, f.reading(), files)
	if read == nil {
		read = inMemory(f, files)
	}
	if read == nil {
		read = inStep(f, f.reading())
	}
	write := again(f, f.writing(), files)
	if write == nil {
		write = inStep(f, f.writing())
	}
	return append(read, write...)
}

// inStep: direct I/O moved each block several times, for one clone after the other.
func inStep(f *Facts, d direction) []result.Verdict {
	share := f.value(d.name + result.InStep)
	if _, bad := effect(share); !bad || !f.direct() || d.name == "write" && f.syncsEach() {
		return nil
	}
	done := map[string]string{"read": "read", "write": "written"}[d.name]
	return d.each(result.Verdict{
		Name: WorkingSetTooSmall, Effect: result.Qualifies, Settle: "Give each clone a part of its own, as with offset_increment, or a file of its own.",
		Sentence: fmt.Sprintf("%s of the %ss are of blocks that another clone had just %s, as the clones go through the same file or device in order: the cache of the disk itself can hold these.", percent(share), d.name, done),
		Evidence: evidence(number{d.name + result.InStep, result.Ratio, share}),
	})
}

// tooSmall: the size was chosen, and there was no room for a better one.
func tooSmall(f *Facts) []result.Verdict {
	d, s := f.reading(), f.Measurement.Size
	if s == nil || !s.TooSmall || len(d.operations) == 0 {
		return nil
	}
	all, cache := float64(s.Bytes)*float64(s.Parts), float64(s.CacheBytes)
	return d.each(result.Verdict{
		Name: WorkingSetTooSmall, Effect: result.Qualifies, Settle: fmt.Sprintf("Give a size of at least %s in all, on a target with room for it, or use direct=1.", report.Bytes(2*cache)),
		Sentence: fmt.Sprintf("The size that was chosen, %s in all, is less than twice the %s that caches in the path can hold.", report.Bytes(all), report.Bytes(cache)),
		Evidence: evidence(number{"size.bytes", result.Bytes, all}, number{"cache.bytes", result.Bytes, cache}),
	})
}

// inMemory: memory can hold what was read through the page cache, from disks that are not counted.
func inMemory(f *Facts, files float64) []result.Verdict {
	d, memory := f.reading(), float64(f.Memory.TotalBytes)
	if l := float64(f.Memory.LimitBytes); l > 0 {
		memory = min(memory, l)
	}
	same, measure, share := f.workingBytes(d, files)
	buffered := f.Measurement.DirectIO == nil || f.Measurement.DirectIO.Effective != result.Direct
	if !buffered || f.counted() || len(d.operations) == 0 || files == 0 || memory == 0 || same >= 2*memory {
		return nil
	}
	v := result.Verdict{
		Name: WorkingSetTooSmall, Effect: result.Qualifies, Settle: fmt.Sprintf("Read at least %s, or use direct=1.", report.Bytes(2*memory)),
		Sentence: fmt.Sprintf("The files have %s, which the memory of %s can hold.", report.Bytes(same), report.Bytes(memory)),
		Evidence: evidence(number{measure, result.Bytes, same}, number{"memory.bytes", result.Bytes, memory}),
	}
	if f.Measurement.DirectIO != nil && f.Measurement.DirectIO.Requested {
		v.Settle = fmt.Sprintf("Read at least %s: a cache may answer direct I/O here.", report.Bytes(2*memory))
	}
	if share < 1 {
		v.Sentence = fmt.Sprintf("At least nine of ten reads go to blocks among the last %s that the workload used, which the memory of %s can hold.", report.Bytes(same), report.Bytes(memory))
	}
	return d.each(v)
}

// workingBytes are among how many of the bytes used last at least a share of a direction's I/Os lie, and the metric that says
// so: all of the files, or what the workload uses again before it has used all of them.
func (f *Facts) workingBytes(d direction, files float64) (bytes float64, metric string, share float64) {
	if hot := f.value(d.name + result.Hot); hot > 0 && (files == 0 || hot < files) {
		return hot, d.name + result.Hot, result.HotShare
	}
	return files, result.FilesBytes, 1
}

// again: direct I/O moved the same few blocks again and again. Of writes nothing is said if syncs come between, as
// what is written until a sync has to reach the medium.
func again(f *Facts, d direction, files float64) []result.Verdict {
	same, measure, share := f.workingBytes(d, files)
	writes := d.name == "write"
	if !f.direct() || len(d.operations) == 0 || same == 0 || same > diskCache || share*d.bytes < sameTimes*same || writes && f.syncedEvery() < sameTimes*same {
		return nil
	}
	done, why, settle := "read", "the cache of the disk itself can hold them", "Use files, or a part of the device, that are larger than the disk's cache, such as 1 GiB"
	if share < 1 {
		settle += ", and all of their blocks alike"
	}
	if writes {
		done, why, settle = "written", why+", and no sync made the disk write each of them to its medium", settle+"; or sync what is written, as with fdatasync=1"
	}
	sentence := fmt.Sprintf("The same %s were %s %.0f times: %s.", report.Bytes(same), done, d.bytes/same, why)
	if share < 1 {
		sentence = fmt.Sprintf("At least nine of ten %ss go to blocks among the last %s that the workload used: %s.", d.name, report.Bytes(same), why)
	}
	return d.each(result.Verdict{
		Name: WorkingSetTooSmall, Effect: result.Qualifies, Sentence: sentence, Settle: settle + ".",
		Evidence: evidence(number{measure, result.Bytes, same}, number{d.name + ".bytes", result.Bytes, d.bytes}),
	})
}
