// Package runner executes what a plan asks of one worker: every trial, in order,
// on one target. The same code runs in a worker's Pod and in storagebench run.
//
// In: the plan, the worker's name, the path of its target, and somewhere to put
// objects. Out: one document for each trial, the tools' own output, a summary of
// the worker, and a Receipt.
//
//  1. Read what earlier attempts of this worker stored. A stored trial never runs again.
//  2. Record the attempt in the worker's summary, so that an attempt that is killed
//     leaves a trace.
//  3. Open the target. On a file system, remove the directories that earlier attempts left,
//     and make a new one for this attempt. Claim a block device if it is free and empty.
//  4. For each trial: prepare the workload if this is its first trial in this attempt; run
//     it while the runner itself is idle; write its document to the spool, and upload it. Remove
//     files that the next trial must not find. Uploads never overlap a trial. If a workload
//     fails, record that and skip its remaining trials; the other workloads continue.
//  5. Remove the directory from the target.
//  6. Upload what is still in the spool, with retries until the deadline, and then the
//     summary.
//
// If the process is stopped, the current trial is lost and the others are kept. If it is
// killed, it also loses what was not uploaded, unless the spool survives. A trial's raw
// output is uploaded before its document, so that a trial whose document is stored is
// complete.
package runner
