// Package status writes a StorageBenchmark's status. It is pure: an Outcome, the records
// of nodes and result documents go in, and it changes the status that it is given.
//
// Summarize is the only author of conditions. It always sets them together, so that they
// cannot contradict each other: a benchmark is underway, blocked, or has ended. EndWorker,
// SetCurrent and Summary write the state of a run; what they write is bounded, whatever
// the number of workers.
package status
