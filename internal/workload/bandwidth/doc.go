// Package bandwidth writes and reads data in sequence, as dd does, to a file or to a
// device.
//
// In comes the configuration of a workload: operations (Write, Read), size, blockSize,
// depth, direct. Prepare chooses the size if none is given, sees whether the target has
// it, and if a trial begins with a read writes what is to be read, once: a note beside
// the file, or in the worker's state for a device, says that it is there as a whole.
//
// Run does the operations in their order. Depth threads take one block after the other
// from a counter that they share, and read or write it where it belongs. A write is
// timed twice: until the last call has returned, which is when the kernel or the device
// had taken the data, and until fsync and syncfs have returned as well, which is when
// it was durable. A trial that begins with a write makes its file anew, so that every
// trial allocates what it writes, and removes it at the end. A read through the page
// cache has the pages dropped before, and says so if some have stayed.
//
// Out come the rates of both, the latency of a block, how long the draining took, the
// CPU time of the threads, and what came of direct I/O.
package bandwidth
