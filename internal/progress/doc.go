// Package progress decides what a run does next. It is pure: a World that the
// controller observed goes in, a Decision comes out. It remembers nothing
// between calls, so an operator that was killed at any moment continues from the
// state of the cluster.
//
// A worker's life, each step of which is repeated until the World shows it done:
//
//	Pending  -> its node's Lease is ours          (Acquire)
//	         -> its Job and what the Job owns     (Start)
//	Running  -> the Job has ended                 (Settle: results are read and
//	                                               the worker's end is recorded)
//	Done or Failed, Job still there               (CleanUp)
//	Done or Failed, Job gone                      -> the next worker
//	no worker left                                (Release, Conclude)
//
// A worker's end is recorded before anything of it is deleted. Workers run one
// after the other; a failed one does not stop the rest, because their results
// are still useful.
package progress
