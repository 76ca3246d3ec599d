// Package nbd is a disk whose power can be cut, served as a network block device.
//
// In: an image in memory, what the disk's cache is like (Behaviour), and a listener. Out: the
// image as it is after the cut.
//
// Writes go into a volatile cache of sectors. A flush, or a write with FUA, moves them to the
// medium; a full cache moves sectors of its choice, as a real one does. A disk that ignores
// flushes acknowledges both without moving anything. Cut drops what is in the cache, or all of
// it but a random part, since real caches write in an order of their own. After that no request
// is answered, until the power is back.
//
// The protocol is the fixed newstyle handshake and simple replies of the NBD specification
// (github.com/NetworkBlockDevice/nbd, doc/proto.md), with READ, WRITE, FLUSH, TRIM, WRITE_ZEROES
// and FUA. What a client says is checked and limited.
package nbd
