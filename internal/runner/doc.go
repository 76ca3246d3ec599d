// Package runner executes what a plan asks of one worker: every trial, in order,
// on one target. The same code runs in a worker's Pod and in storagebench run.
//
// In: the plan, the worker's name, the path of its target, and somewhere to put
// objects. Out: one document for each trial, the tools' own output, a summary of
// the worker, and a Receipt.
//
//  1. What earlier attempts of this worker stored is read back and reused: a
//     stored trial is never run again.
//  2. The attempt is put on record in the worker's summary, so that one that is
//     killed is known of.
//  3. The target is opened: on a file system a directory is made that is this
//     attempt's own, and those that earlier ones left are removed; a block device
//     is claimed, if it is free and holds nothing.
//  4. For each trial: the workload is prepared if it is its first in this
//     attempt; it runs, with the runner itself idle; its document is written to
//     the spool, and then uploaded. Uploads never overlap a trial. A workload that
//     fails is recorded and left out from then on; the others go on.
//  5. The directory is removed from the target.
//  6. What is still in the spool is uploaded, however often it takes, until the
//     deadline; then the summary.
//
// If the process is stopped, the trial in progress is forgotten and the rest is
// kept; if it is killed, the same, as far as it was uploaded or the spool
// survives. A trial's document is uploaded after its raw output, so that a trial
// that is found stored is complete.
package runner
