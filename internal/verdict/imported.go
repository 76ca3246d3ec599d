package verdict

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// Printed is what is known of a trial that only another tool's output tells of.
type Printed struct {
	// FileBytes is how much the tool keeps in its files at least; 0: unknown.
	FileBytes float64
	// WrittenBytes is all that it wrote; 0: unknown.
	WrittenBytes float64
	// ReadsBack reports that it reads what it has written itself, through the page cache.
	ReadsBack bool
	// Direct reports that it goes past the page cache, but for what stdio does.
	Direct bool
	// Unsynced reports that its clock stops before the data is on the disk. MayBeUnsynced
	// reports that nothing tells whether it does.
	Unsynced, MayBeUnsynced bool
	// LinkBytesPerSecond is what the way to the storage carries at most, and MemoryBytes the
	// memory of the machine, as the user knows them; 0: unknown.
	LinkBytesPerSecond, MemoryBytes float64
}

// aboveLink: more bytes per second than the way to the storage carries.
func aboveLink(f *Facts) []result.Verdict {
	link := f.Printed.LinkBytesPerSecond
	if link <= 0 {
		return nil
	}
	const clocks = 1.05 // of different clocks, and MB taken for MiB
	var out []result.Verdict
	for _, op := range f.operations() {
		rate, e := f.value(op+".bandwidth"), result.Invalidates
		if rate <= clocks*link {
			// A cell of a matrix, of which the row shows only the largest file.
			rate, e = f.highestCell(op), result.Qualifies
		}
		if rate > clocks*link {
			out = append(out, result.Verdict{
				Name: ImpossibleUncached, Effect: e, Operation: op, Settle: "Look for the cache that answers.",
				Sentence: fmt.Sprintf("%s per second is more than the link carries, %s per second.", report.Bytes(rate), report.Bytes(link)),
				Evidence: evidence(number{"rate", result.BytesPerSecond, rate}, number{"link", result.BytesPerSecond, link}),
			})
		}
	}
	return out
}

var cell = regexp.MustCompile(`^\.\d+(?:[KMGTPE]i)?B\.\d+(?:[KMGTPE]i)?B\.bandwidth$`)

func (f *Facts) highestCell(op string) float64 {
	highest := 0.0
	for name := range maps.Keys(f.Measurement.Metrics) {
		if rest, ok := strings.CutPrefix(name, op); ok && cell.MatchString(rest) {
			highest = max(highest, f.value(name))
		}
	}
	return highest
}

// stdio are operations of iozone that have the page cache in their way, whatever it is told.
var stdio = []string{"fread", "freread", "fwrite", "frewrite"}

// cached returns those operations that went through the page cache.
func (p *Printed) cached(ops []string) []string {
	if !p.Direct {
		return ops
	}
	return slices.DeleteFunc(slices.Clone(ops), func(op string) bool { return !slices.Contains(stdio, op) })
}

// leftInMemory: a tool's clock stopped while its data was in memory.
func leftInMemory(f *Facts) []result.Verdict {
	p := &f.Printed
	small := p.MemoryBytes > 0 && p.FileBytes > 0 && p.FileBytes < 2*p.MemoryBytes
	if !p.Unsynced && (!p.MayBeUnsynced || !small) {
		return nil
	}
	// Transactions, as PostMark's, write as well.
	ops := f.writing().operations
	if slices.Contains(f.operations(), "transactions") {
		ops = append(ops, "transactions")
	}
	var out []result.Verdict
	for _, op := range p.cached(ops) {
		out = append(out, result.Verdict{
			Name: FromMemory, Effect: result.Qualifies, Operation: op, Settle: "Sync what was written before the clock stops: -e of iozone, end_fsync=1 of fio.",
			Sentence: "The writes were not synced, so that part of the data, or all of it, was still in memory when the clock stopped.",
			Evidence: evidence(number{"files.bytes", result.Bytes, p.FileBytes}, number{"memory.bytes", result.Bytes, p.MemoryBytes}),
		})
	}
	return out
}

// readBack: a tool read what it had just written.
func readBack(f *Facts) []result.Verdict {
	p := &f.Printed
	if !p.ReadsBack {
		return nil
	}
	reads := f.reading()
	reads.operations = p.cached(reads.operations)
	proof := evidence(
		number{"files.bytes", result.Bytes, p.FileBytes}, number{"written.bytes", result.Bytes, p.WrittenBytes}, number{"memory.bytes", result.Bytes, p.MemoryBytes},
	)
	switch {
	case p.WrittenBytes > 0 && p.MemoryBytes == 0:
		return reads.each(result.Verdict{
			Name: FromMemory, Effect: result.Qualifies, Evidence: proof, Settle: "Say how much memory the machine had (--memory), or measure with more data than it holds.",
			Sentence: fmt.Sprintf("The files were read soon after they had been written, %s in all: nothing shows that they had left the memory.", report.Bytes(p.WrittenBytes)),
		})
	case p.WrittenBytes > 0 && 2*p.WrittenBytes <= p.MemoryBytes:
		return reads.each(result.Verdict{
			Name: FromMemory, Effect: result.Invalidates, Evidence: proof, Settle: "Measure with more data than the memory holds.",
			Sentence: fmt.Sprintf("The memory of %s holds all that was ever written, %s, so that nothing had to be read from a disk.", report.Bytes(p.MemoryBytes), report.Bytes(p.WrittenBytes)),
		})
	case p.FileBytes > 0 && p.FileBytes < 2*p.MemoryBytes:
		return reads.each(result.Verdict{
			Name: WorkingSetTooSmall, Effect: result.Qualifies, Evidence: proof, Settle: fmt.Sprintf("Read at least %s, or use direct I/O.", report.Bytes(2*p.MemoryBytes)),
			Sentence: fmt.Sprintf("The files have %s, which the memory of %s can hold.", report.Bytes(p.FileBytes), report.Bytes(p.MemoryBytes)),
		})
	}
	return nil
}

// deep are options with which more than one block is in flight.
var deep = regexp.MustCompile(`(?m)^(?:iodepth|numjobs)=(?:[2-9]|1\d)`)

// smallBlocks: a sequential fio without cache had one small block in flight.
func smallBlocks(f *Facts) []result.Verdict {
	input := f.Measurement.Input
	d := f.Measurement.DirectIO
	if !f.Imported || d == nil || !d.Requested || !sequential.MatchString(input) || random.MatchString(input) || deep.MatchString(input) || f.threads() != 1 {
		return nil
	}
	var out []result.Verdict
	for _, op := range f.operations() {
		ios := f.value(op + ".ios")
		if ios == 0 || !slices.Contains([]string{"read", "write"}, op) {
			continue
		}
		if size := f.value(op+".bytes") / ios; size > 0 && size < smallRequest {
			out = append(out, smallBlock(op, size))
		}
	}
	return out
}

func smallBlock(op string, size float64) result.Verdict {
	return result.Verdict{
		Name: BlockSizeLimited, Effect: result.Qualifies, Operation: op, Settle: "Measure the same with blocks of 1 MiB.",
		Sentence: fmt.Sprintf("One block of %s at a time decides this bandwidth: it is the block over its latency, not what the disk can transfer.", report.Bytes(size)),
		Evidence: evidence(number{"block", result.Bytes, size}),
	}
}
