// Package device finds what is under a path: its file system, and the leaf disks
// below that, with the settings of their queues.
//
// System.Layers goes to the bottom: it returns every layer on the way, of which each has the
// IDs of those below it. The steps are: from the mount table to the file system that holds the
// path (filesystem.go); from the file system to its devices, or to other directories
// (layers_filesystem.go, journal.go, pool.go); from a device to its disk, its members or its paths
// (layers_block.go, layers_disk.go); from a loop device to its file, whose path is then
// followed like the first one (layers_loop.go). What cannot be seen is a layer too, or a note.
//
// UnderPath and UnderNumber return only disks, those whose queues have settings: a loop device
// is one of them.
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
// anyway, and follows loop devices down to the disks (follow.go).
//
// Activities says what the kernel does on layers besides: a resync, a balance, a scrub (activity.go, scrub.go).
//
// System.Root is / or, in tests, a directory with a tree of sysfs, procfs and dev.
package device
