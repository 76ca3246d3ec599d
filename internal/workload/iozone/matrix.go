package iozone

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// operations in the order in which iozone prints them. The first six are those that
// the engine runs.
var operations = []string{
	"write", "rewrite", "read", "reread", "random.read", "random.write",
	"backward.read", "record.rewrite", "stride.read", "fwrite", "frewrite", "fread", "freread",
}

// matrix holds bandwidths in bytes/s by operation.
type matrix map[string]map[pair]float64

// set puts a cell. It reports false if it is there already.
func (m matrix) set(operation string, at pair, bandwidth float64) bool {
	if m[operation] == nil {
		m[operation] = map[pair]float64{}
	}
	if _, ok := m[operation][at]; ok {
		return false
	}
	m[operation][at] = bandwidth
	return true
}

// measurement has a metric for each cell, and one for each operation: that of the
// largest file with the largest record.
func (m matrix) measurement() result.Measurement {
	out := result.Measurement{Metrics: result.Metrics{}}
	heads := map[pair]bool{}
	for _, operation := range operations {
		cells := m[operation]
		if len(cells) == 0 {
			continue
		}
		for at, v := range cells {
			out.Metrics.Set(operation+"."+sizeName(at.file)+"."+sizeName(at.record)+".bandwidth", result.BytesPerSecond, v)
		}
		head := slices.MaxFunc(slices.Collect(maps.Keys(cells)), larger)
		heads[head] = true
		out.Metrics.Set(operation+".bandwidth", result.BytesPerSecond, cells[head])
		out.Operations = append(out.Operations, operation)
	}
	if len(heads) == 1 {
		for head := range heads {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: those of the file of %s with records of %s", strings.Join(out.Operations, ", "), sizeName(head.file), sizeName(head.record)))
		}
	} else if len(heads) > 1 {
		out.Notes = append(out.Notes, strings.Join(out.Operations, ", ")+": each of the largest file and record that were measured, which are not the same for all")
	}
	return out
}

// larger compares cells by file, then by record.
func larger(a, b pair) int {
	return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.record, b.record))
}

// largest is the size of the largest file.
func (m matrix) largest() uint64 {
	var n uint64
	for _, cells := range m {
		for at := range cells {
			n = max(n, at.file)
		}
	}
	return n
}

// sizes names the sizes of files and records, from the smallest to the largest.
func (m matrix) sizes() string {
	var files, records []uint64
	for _, cells := range m {
		for at := range cells {
			files, records = append(files, at.file), append(records, at.record)
		}
	}
	if len(files) == 0 {
		return ""
	}
	span := func(of []uint64) string {
		if least, most := slices.Min(of), slices.Max(of); least != most {
			return sizeName(least) + "–" + sizeName(most)
		}
		return sizeName(of[0])
	}
	return span(files) + " by " + span(records)
}

// tests adds what all tests together read and wrote at least: each of them goes once through
// its file. It shows whether the disks took part in it.
func (m matrix) tests(metrics result.Metrics) {
	moved := map[string]uint64{}
	for operation, cells := range m {
		name := "write"
		if strings.HasSuffix(operation, "read") {
			name = "read"
		}
		for at := range cells {
			moved[name] += at.file
		}
	}
	for name, n := range moved {
		metrics.Set("tests."+name+".bytes", result.Bytes, float64(n))
	}
}

// sizeName writes a size so that no other has the same name: with the largest unit that
// divides it.
func sizeName(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	if n > 0 {
		i = bits.TrailingZeros64(n) / 10
	}
	return strconv.FormatUint(n>>(10*i), 10) + units[i]
}

// clip shortens what is quoted in a message.
func clip(s string) string {
	const most = 120
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}
