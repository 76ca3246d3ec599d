// Package tunabletest is a kernel for tests: sysfs, procfs and zfs in memory, which
// react to what is written to them as Linux and ZFS do. A scheduler brings its own
// nr_requests, a change of the queue's limits sets read_ahead_kb anew, dirty_bytes
// switches off dirty_ratio, the ARC does not obey every limit, odd numbers are
// rounded. It can be booted, and its disks can be exchanged and renamed.
package tunabletest
