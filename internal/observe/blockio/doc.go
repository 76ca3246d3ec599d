// Package blockio observes the requests of disks with eBPF, for workers that have the privileges.
//
// In: the names of a target's leaf disks. Out, for the time of a trial and for each disk: how
// long requests waited in the queues above the disk and how long the disk took, apart, by
// operation; their sizes; how far apart reads and writes were; and whose process submitted them.
// The kernel's counters, which package observe reads, know only sums of them.
//
// Programs run at the tracepoints block_rq_insert, block_rq_issue and block_rq_complete, and at
// block_rq_requeue, where a busy disk gives requests back:
//
//  1. Open reads from the kernel's types (BTF, layout.go) where it keeps what the programs need,
//     and assembles the programs for this kernel and these disks (assemble.go, programs.go). So
//     there is no compiler, neither here nor where storagebench is built, and no tracefs.
//  2. The programs remember of each request when it was inserted and issued, under its address.
//     The kernel allocates its requests once and uses them again, so that there are only as
//     many addresses as requests fit into the queues. When a request completes, they count it in
//     histograms, which have the buckets of package histogram (maps.go).
//  3. When there are very many requests, the programs only count most of them, and observe those
//     that began in some windows of a millisecond (sample in programs.go). Each of these then
//     counts for as many as it stands for. How many windows that are is decided while the
//     collector is open (pace.go).
//  4. Read reads the counters of all CPUs; Trial subtracts what was counted before a trial.
//
// All maps have a fixed size. A request for which there is no room is counted as dropped; an
// event that comes while the same program runs on the same CPU is lost, and the kernel counts it.
//
// What the numbers mean, and what they cannot know, is in docs/reference/results.md.
package blockio
