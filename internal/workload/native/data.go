package native

import (
	"encoding/binary"
	"math/rand/v2"
)

const (
	// stampEvery is how far apart stamps are: no block that storage might deduplicate
	// is smaller.
	stampEvery = 512
	// repeatAfter is how much is written before the random bytes are used again:
	// further than storage looks back that compresses. To change every byte for each
	// buffer would be better still, and takes longer than dd takes to make zeros.
	repeatAfter = 1 << 20
	// cacheLine is what the next buffer's place is rounded up to.
	cacheLine = 64
)

// Data gives buffers of bytes that cannot be compressed and are never twice the same:
// random bytes, in which a counter is stamped every 512 bytes for each buffer. One
// belongs to one thread.
type Data struct {
	pool  []byte
	next  int // in the pool
	stamp uint64
}

// NewData returns data for buffers of at most size bytes. Another seed gives other
// data. Buffers of whole blocks of a device are aligned for direct I/O to it.
func NewData(seed uint64, size int) *Data {
	size = roundUp(max(size, 1), cacheLine)
	d := &Data{pool: Aligned(roundUp(repeatAfter, size)), stamp: seed << 40}
	random := rand.NewChaCha8([32]byte(binary.LittleEndian.AppendUint64(make([]byte, 24), seed)))
	_, _ = random.Read(d.pool) // it never fails
	return d
}

// Next returns n bytes that are valid until the next call.
func (d *Data) Next(n int) []byte {
	if d.next+n > len(d.pool) {
		d.next = 0
	}
	b := d.pool[d.next : d.next+n : d.next+n]
	d.next += roundUp(n, cacheLine)
	for i := 0; i+8 <= n; i += stampEvery {
		d.stamp++
		binary.LittleEndian.PutUint64(b[i:], d.stamp*0x9e3779b97f4a7c15)
	}
	return b
}

// roundUp returns the smallest multiple of unit that is not below n.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
