// Package native is what the engines that are written here share: threads, a clock,
// system calls, data, and the end of a measurement.
//
// A benchmark that is a program of its own must cost as little as the loop in C that
// it stands for. So a thread is a thread of the kernel, which runs nothing else
// (Run); a time stamp is one read of the monotonic clock (Clock); a system call goes
// to the kernel without the scheduler being told (Open, Write, …), which is right as
// there are more Ps than threads; paths and buffers are made before the clock starts;
// latencies are counted in a dense histogram of the thread's own.
//
// What is written cannot be compressed and no two blocks of it are equal (Data), as
// storage may compress and deduplicate.
//
// Every error of a system call is an errno that the engine must look at; Refused of
// workload.Env turns it into a failure that names the field to change.
package native
