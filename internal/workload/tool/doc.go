// Package tool runs the programs of engines that are not our own: fio, bonnie++,
// iozone.
//
// In: an argument vector and a directory. Out: what the program printed, bounded,
// and how it ended. A program gets an environment of three variables, never a
// shell, and no more time than its context: it is asked to end, and killed with
// all that it has started if it does not. If this program dies, the kernel kills
// it too, so that nothing goes on writing to a target unseen.
package tool
