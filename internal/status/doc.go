// Package status writes what is known into a StorageBenchmark's status. It is pure: an
// Outcome, the records of nodes and the documents of results go in; what comes out is the
// status that it was given, changed.
//
// Summarize is the only author of conditions. They are always set together, so that they
// cannot contradict each other: a benchmark is underway, blocked, or has ended. What a run
// has come to is written by EndWorker, SetCurrent and Summary, whose sizes are bounded
// whatever the number of workers.
package status
