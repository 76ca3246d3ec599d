// Package device finds what is under a path: its file system, and the leaf disks
// below that, with the settings of their queues.
//
// The file system is the longest match in mountinfo. Its device is followed in
// /sys/dev/block: a partition to its disk, device mapper and md through slaves/
// down to the leaves, btrfs through /sys/fs/btrfs, an overlay to its upper
// directory. Where the way ends at another machine, in memory, or in a pool
// that sysfs does not show, there is no leaf disk, and a note says why.
//
// The package also guards block devices that are about to be overwritten. It
// never uses a device that is mounted or held by the kernel. It uses one on
// which blkid finds a signature only if the device was created for the run. And
// it probes whether direct I/O is refused, accepted, or accepted but cached
// anyway.
//
// System.Root is / or, in tests, a directory with a tree of sysfs and procfs.
package device
