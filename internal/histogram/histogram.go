package histogram

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

const (
	bucketBits = 6 // 64 buckets per octave, like fio's FIO_IO_U_PLAT_BITS
	buckets    = 1 << bucketBits
	maxIndex   = (64 - bucketBits + 1) * buckets // beyond any uint64
)

// Histogram counts values in nanoseconds. The zero value is empty and ready. It
// is not safe for concurrent use: give each thread its own histogram and merge
// them.
type Histogram struct {
	counts map[int]uint64 // by bucket index
	total  uint64
}

// index returns the bucket of a value. Values below 128 have one bucket each;
// above that, each octave has 64.
func index(v uint64) int {
	msb := bits.Len64(v) - 1
	if msb <= bucketBits {
		return int(v)
	}
	shift := msb - bucketBits
	return (shift+1)<<bucketBits + int(v>>shift)&(buckets-1)
}

// value returns the middle of a bucket, which is how fio names it.
func value(i int) uint64 {
	if i < 2*buckets {
		return uint64(i)
	}
	shift := i>>bucketBits - 1
	base := uint64(1) << (shift + bucketBits)
	width := uint64(1) << shift
	return base + uint64(i%buckets)*width + width/2
}

// Add counts n values of v nanoseconds.
func (h *Histogram) Add(v, n uint64) {
	if n == 0 {
		return
	}
	if h.counts == nil {
		h.counts = make(map[int]uint64)
	}
	h.counts[index(v)] += n
	h.total += n
}

// Merge adds the counts of other.
func (h *Histogram) Merge(other *Histogram) {
	if other == nil || other.total == 0 {
		return
	}
	if h.counts == nil {
		h.counts = make(map[int]uint64, len(other.counts))
	}
	// A document that somebody else wrote may hold counts near the end of uint64. Such
	// counts are forged; the sum stays at the maximum instead of wrapping around.
	for i, n := range other.counts {
		n = min(n, math.MaxUint64-h.total)
		h.counts[i] += n
		h.total += n
	}
}

// Buckets returns how many buckets hold a value.
func (h *Histogram) Buckets() int {
	if h == nil {
		return 0
	}
	return len(h.counts)
}

// Count returns the number of values.
func (h *Histogram) Count() uint64 { return h.total }

// Percentile returns the nearest-rank percentile in nanoseconds, p in (0, 100],
// and 0 if the histogram is empty.
func (h *Histogram) Percentile(p float64) uint64 { return h.Percentiles(p)[0] }

// Percentiles returns several of them, for which it sorts the buckets once.
func (h *Histogram) Percentiles(ps ...float64) []uint64 {
	out := make([]uint64, len(ps))
	if h.total == 0 {
		return out
	}
	sorted := h.indexes()
	for i, p := range ps {
		out[i] = h.percentile(p, sorted)
	}
	return out
}

func (h *Histogram) percentile(p float64, sorted []int) uint64 {
	exact := p * float64(h.total) / 100
	// 99.9 has no exact binary representation: without the slack, the rank of
	// p99.9 of 1000 values would be 1000, the maximum.
	rank := uint64(math.Ceil(exact - exact*1e-12))
	rank = min(max(rank, 1), h.total)
	var seen uint64
	last := 0
	for _, i := range sorted {
		seen += h.counts[i]
		last = i
		if seen >= rank {
			break
		}
	}
	return value(last)
}

func (h *Histogram) indexes() []int {
	is := make([]int, 0, len(h.counts))
	for i := range h.counts {
		is = append(is, i)
	}
	slices.Sort(is)
	return is
}

// layout names the bucket scheme in documents.
const layout = "log2-64"

type document struct {
	Layout string `json:"layout"`
	Unit   string `json:"unit"`
	// Bins are [middle of the bucket, count], ascending.
	Bins [][2]uint64 `json:"bins"`
}

// MarshalJSON returns {"layout":"log2-64","unit":"ns","bins":[[ns,count],…]}.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	d := document{Layout: layout, Unit: "ns", Bins: make([][2]uint64, 0, len(h.counts))}
	for _, i := range h.indexes() {
		d.Bins = append(d.Bins, [2]uint64{value(i), h.counts[i]})
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads the format of MarshalJSON.
func (h *Histogram) UnmarshalJSON(b []byte) error {
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	if d.Layout != layout || d.Unit != "ns" {
		return fmt.Errorf("histogram: layout %q in %q, expected %q in \"ns\"", d.Layout, d.Unit, layout)
	}
	if len(d.Bins) > maxIndex {
		return fmt.Errorf("histogram: %d bins, more than the layout has", len(d.Bins))
	}
	*h = Histogram{}
	for _, bin := range d.Bins {
		if h.total > math.MaxUint64-bin[1] {
			return fmt.Errorf("histogram: the sum of the counts overflows")
		}
		h.Add(bin[0], bin[1])
	}
	return nil
}

// FromBuckets returns the histogram of which counts[i] values are in bucket i of the layout, as
// the kernel counts them for package blockio.
func FromBuckets(counts []uint64) *Histogram {
	h := &Histogram{}
	for i, n := range counts {
		if n > 0 && i < maxIndex {
			h.Add(value(i), n)
		}
	}
	return h
}
