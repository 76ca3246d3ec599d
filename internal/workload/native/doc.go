// Package native has what our own engines share: threads, a clock, system calls, data,
// and the end of a measurement.
//
// Our own benchmark must cost as little as the loop in C that it replaces. So a thread
// is a thread of the kernel that runs nothing else (Run). A time stamp is one read of
// the monotonic clock (Clock). A system call goes to the kernel without telling Go's
// scheduler (Open, Write, …), which works because there are more Ps than threads. Paths
// and buffers are made before the clock starts. Each thread counts latencies in a dense
// histogram of its own.
//
// The data that is written cannot be compressed, and no two blocks of it are equal
// (Data), because storage may compress and deduplicate.
//
// Every error of a system call is an errno that the engine must look at; Refused of
// workload.Env turns it into a failure that names the field to change.
package native
