package verdict

import (
	"fmt"
	"regexp"
	"slices"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

const (
	// headMoves is how many random reads a second no spinning disk reaches: four with each turn of the
	// fastest. One at a time it serves less than one a turn. With a queue of 32 that it sorts, over a small
	// part of it, it serves two or three; and one with two arms turns half as fast.
	headMoves = 4 * turns
	// sataCarries is what no link of SATA exceeds, in bytes per second, and so no spinning disk below one.
	sataCarries = 600e6
)

// spins reports whether a disk is a spinning one. What a virtual machine, a RAID controller or a
// network shows as one proves nothing.
func spins(l result.Layer) bool {
	return l.Kind == result.DiskLayer && l.Rotational != nil && *l.Rotational && l.Type == "sata" && l.Note == ""
}

// turning reports whether a spinning disk also says how fast it turns. A virtual one may claim to spin,
// but hardly how fast; and the kernel's opinion can be overwritten in sysfs, what the disk says cannot.
func turning(l result.Layer) bool { return spins(l) && l.TurnsPerMinute > 0 }

// carries is what the link of a layer carries at most, in bytes per second; 0: not known.
func carries(l result.Layer) float64 {
	if l.LinkBytesPerSecond <= 0 && turning(l) {
		return sataCarries
	}
	return l.LinkBytesPerSecond
}

// spindles is on how many spinning disks the target is, each of which is counted; 0: on something else, too.
func (f *Facts) spindles() int {
	var names []string
	for _, l := range result.Leaves(result.Written(f.Target.Layers)) {
		if !turning(l) {
			return 0
		}
		names = append(names, l.ID)
	}
	counted := slices.Clone(f.Target.Counted())
	slices.Sort(names)
	slices.Sort(counted)
	if !slices.Equal(names, counted) {
		return 0 // a loop device, or more disks than the document has room for
	}
	return len(names)
}

var (
	readsAtRandom = regexp.MustCompile(`(?m)^(rw|readwrite)=(randread|randrw)$`)
	// inOrder are options with which reads at random offsets may come in an order after all.
	inOrder = regexp.MustCompile(`(?m)^(percentage_random|zonemode|zonesize|zonerange|nrfiles|filesize|file_service_type|verify)=`)
)

// heads: spinning disks answered more random reads than their heads can serve.
func heads(f *Facts) []result.Verdict {
	n, text := float64(f.spindles()), f.Measurement.Input
	if n == 0 || !f.direct() || f.threads() == 0 || !readsAtRandom.MatchString(text) || sequential.MatchString(text) || inOrder.MatchString(text) {
		return nil
	}
	seconds, d, reads := f.value("device.seconds"), f.reading(), 0.0
	if seconds < 1 || d.bytes < enough {
		return nil
	}
	for _, op := range d.operations {
		reads += f.value(op + ".iops")
	}
	// What is merged is one request, and what memory answers is none: FromMemory tells of that.
	asked := f.value("device.read.count") / seconds
	if reads = min(reads, asked); reads <= headMoves*n {
		return nil
	}
	disks := "a spinning disk serves"
	if n > 1 {
		disks = report.Number(n) + " spinning disks serve"
	}
	numbers := []number{{"rate", result.PerSecond, reads}, {"ceiling", result.PerSecond, headMoves * n}, {"disks", result.Count, n}}
	if f.has("files.bytes") {
		numbers = append(numbers, number{"files.bytes", result.Bytes, f.value("files.bytes")})
	}
	return d.each(result.Verdict{
		Name: ImpossibleUncached, Effect: result.Invalidates,
		Settle: "Read from files that are many times as large as the disk's cache, best from all of the disk, after they were written.",
		Sentence: fmt.Sprintf("%s random reads per second are more than %s, whose heads move less than %s times a second: a cache in the disk answered, or the disk knew that nothing was ever written there.",
			report.Number(reads), disks, report.Number(headMoves*n)),
		Evidence: evidence(numbers...),
	})
}
