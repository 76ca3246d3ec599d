// Package fio runs fio.
//
// In: the fio field of a workload (a job file, the parameters of one job, or a preset) and
// a target. Out: a result.Measurement for each trial.
//
//  1. parse reads the job file's lines; it knows no option.
//  2. resolve makes jobs of it. Every option must be in the table of options.go,
//     which is an allow-list: what is not in it is refused, as fio can run
//     programs, write anywhere and change the node. Values become canonical
//     (sizes in bytes, times with a unit), so that fio has nothing to guess.
//  3. render writes a job file of our own from the jobs. The user's text never
//     reaches fio, and no shell is involved.
//  4. Prepare checks that the target is large enough and writes, once, everything
//     that the jobs will read or overwrite: blocks that were never written read as zeros
//     without any I/O. What a job appends to, as a log, is not there when a trial begins.
//     fio rehearses the jobs (rehearse.go), to know how soon they use the same blocks again.
//  5. Run executes fio in the target's directory, reads its json+ output and
//     folds it: jobs by name, clones merged, groups one after the other. Clean removes
//     what the next trial must not find.
//
// Percentiles come from the merged histograms, which hold fio's own buckets.
package fio
