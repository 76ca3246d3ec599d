// Package tunabletest simulates a kernel for tests: sysfs, procfs and zfs in
// memory, which react to writes like Linux and ZFS. A scheduler brings its own
// nr_requests, a change of the queue's limits resets read_ahead_kb, dirty_bytes
// switches off dirty_ratio, the ARC ignores some limits, odd numbers are rounded.
// After a disk's cache was switched the kernel looks at the disk again a moment later,
// and changes what it derives from the cache; time passes only when somebody waits.
// The machine can be rebooted, and its disks can be exchanged and renamed.
package tunabletest
