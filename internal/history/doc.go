// Package history keeps the medians of a StorageBenchmarkSchedule's runs in its status, and says
// what they show.
//
//	Record   adds a run that has ended: its outcome, its medians, and what differs from the run before
//	Judge    computes the changes of all series anew, and whether the storage has regressed
//
// The status is all there is: benchmarks are deleted after some runs, and a schedule may have no
// ResultStore. So it is bounded: 50 runs, 64 series, and a number per run in each.
package history
