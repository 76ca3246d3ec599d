// Package observe watches the devices underneath a target while a trial runs.
//
// In: the leaf disks that package device has found. Out: metrics of the disks between
// two moments: how many reads, writes and flushes they completed, of how many bytes,
// and how long one took. They are the kernel's counters (/sys/block/<disk>/stat, see
// the kernel's Documentation/block/stat.rst), so they count what every program did,
// and they count below the file system and its cache: what an application wrote and
// what reached the disk need not be the same, and that is what they are for.
//
// Leaves are looked at and not what lies between: a device mapper counts a flush as a
// write, and a stack would be counted twice. Flushes that were merged into one are
// one; a disk whose cache the kernel takes for write-through is sent none.
package observe
