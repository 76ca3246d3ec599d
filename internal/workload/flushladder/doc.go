// Package flushladder measures what it costs to make one block durable in each way that there is, and
// how long a flush takes after more and more was written.
//
// In comes the configuration of a workload (size, operations, repeats). Prepare writes the file, or the
// beginning of the device, so that no later write allocates anything. Run writes one block again and
// again in one thread: without a sync, past the page cache, with fdatasync, with fsync, with O_DSYNC,
// and with O_DSYNC past the page cache, which a disk that can do so is asked to do without a flush
// (FUA). Then it writes from one block to all of the file past the page cache, in an order drawn for the
// trial, and times the fdatasync after each.
//
// Out come rate and latency of each step, and the medians of the flushes by what was written before
// them. A cache that is written when told to takes longer the more there is. One that is not, because it
// survives a power cut or because the disk ignores what it is told, takes as long after 256 MiB as after
// one block. Which of the two it is only a power cut shows.
package flushladder
