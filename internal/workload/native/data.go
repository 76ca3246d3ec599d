package native

import (
	"encoding/binary"
	"math/rand/v2"
	"unsafe"
)

// Data gives buffers of bytes that cannot be compressed and are never twice the same,
// in a fraction of the time that it takes to copy them: random bytes, all of which are
// combined with another key for each buffer. A compressor finds nothing that it has
// seen before, however far it looks back, nor does deduplication. One belongs to one
// thread.
type Data struct {
	pool []byte
	keys *rand.PCG
}

const word = 8

// NewData returns data for buffers of at most size bytes, which are aligned for direct
// I/O. Another seed gives other data.
func NewData(seed uint64, size int) *Data {
	d := &Data{pool: Aligned((size + word - 1) / word * word), keys: rand.NewPCG(seed, 1)}
	random := rand.NewChaCha8([32]byte(binary.LittleEndian.AppendUint64(make([]byte, 24), seed)))
	_, _ = random.Read(d.pool) // it never fails
	return d
}

// Next returns n bytes that are valid until the next call.
func (d *Data) Next(n int) []byte {
	key := d.keys.Uint64()
	words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(d.pool))), len(d.pool)/word)[:(n+word-1)/word]
	for ; len(words) >= 8; words = words[8:] { // eight at once: bounds are checked once
		w := (*[8]uint64)(words)
		w[0] ^= key
		w[1] ^= key
		w[2] ^= key
		w[3] ^= key
		w[4] ^= key
		w[5] ^= key
		w[6] ^= key
		w[7] ^= key
	}
	for i := range words {
		words[i] ^= key
	}
	return d.pool[:n]
}
