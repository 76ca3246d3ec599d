// Package tool runs the programs of others that engines use: fio, bonnie++, iozone.
//
// In: an argument vector and a directory. Out: what the program printed, up to a
// limit, and how it ended. A program gets a small environment and never a shell. When
// its context ends, it gets SIGTERM, and if it does not end, it is killed with
// everything that it started. If this program dies, the kernel kills it too, so that
// nothing continues to write to a target unseen.
package tool
