// Package filesync creates a file, writes it, closes it and removes it, again and
// again, in one or more threads: what it costs to make a small file durable, and with
// sync None what the file system costs in memory.
//
// In comes the configuration of a workload (files, size, sync, threads). Prepare sees
// whether there is room. Run lets the threads go, each with a file of its own and all
// taking from one count of files, so that they end together. A thread reads the clock
// between steps and nowhere else, so that one step ends where the next begins, and
// counts each step in a histogram of its own. When the last file is gone the file
// system is drained, which is timed apart.
//
// Out come the rate in files per second, the latency of each step and of the whole,
// and the CPU time of the threads. A trial leaves nothing behind, and what an attempt
// that was killed left is removed before the next.
package filesync
