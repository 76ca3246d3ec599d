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
	at    int // where the next buffer begins
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

// Next returns n bytes that are valid until the next call. Buffers that are smaller
// than the pool are taken from it one after the other, so that a file that is written
// in small blocks, or small files side by side, do not repeat themselves where storage
// compresses them together.
func (d *Data) Next(n int) []byte {
	if d.at+n > len(d.pool) {
		d.at = 0
	}
	b := d.pool[d.at : d.at+n]
	d.at += (n + stampEvery - 1) / stampEvery * stampEvery
	for i := 0; i+8 <= n; i += stampEvery {
		d.stamp++
		binary.LittleEndian.PutUint64(b[i:], d.stamp*0x9e3779b97f4a7c15)
	}
	return b
}
