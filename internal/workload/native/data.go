package native

import (
	"encoding/binary"
	"math/rand/v2"
)

// stampEvery is how far apart stamps are: no block that storage might deduplicate is
// smaller.
const stampEvery = 512

// Data gives buffers of bytes that cannot be compressed and are never twice the same:
// random bytes, in which a counter is stamped every 512 bytes for each buffer. One
// belongs to one thread.
type Data struct {
	pool  []byte
	stamp uint64
}

// NewData returns data for buffers of at most size bytes, which are aligned for direct
// I/O. Another seed gives other data.
func NewData(seed uint64, size int) *Data {
	d := &Data{pool: Aligned(max(size, 8)), stamp: seed << 40}
	random := rand.NewChaCha8([32]byte(binary.LittleEndian.AppendUint64(make([]byte, 24), seed)))
	_, _ = random.Read(d.pool) // it never fails
	return d
}

// Next returns n bytes that are valid until the next call.
func (d *Data) Next(n int) []byte {
	b := d.pool[:n]
	for i := 0; i+8 <= n; i += stampEvery {
		d.stamp++
		binary.LittleEndian.PutUint64(b[i:], d.stamp*0x9e3779b97f4a7c15)
	}
	return b
}
