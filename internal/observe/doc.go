// Package observe measures what the disks below a target did during a trial.
//
// In: the leaf disks that package device found. Out: how many reads, writes and
// flushes the disks completed between two moments, of how many bytes, and how long
// one took on average. The numbers are the kernel's counters (/sys/block/<disk>/stat,
// see the kernel's Documentation/block/stat.rst). They include the I/O of every
// program, and they count below the file system and its cache, so they show the
// difference between what an application wrote and what reached the disk.
//
// Only leaf disks are read, not the layers above them: device mapper counts a flush
// as a write, and stacked devices would count twice. Flushes that the kernel merges
// count as one; to a disk that the kernel considers write-through it sends none.
// A layer above is read only in the place of disks that the kernel does not count.
// What it does not count at all, or not all the time, is absent, which is not 0 (kept.go, gaps.go).
package observe
