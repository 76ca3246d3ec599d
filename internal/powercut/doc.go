// Package powercut proves whether storage keeps what it has acknowledged: only a power cut can.
//
// In: a file or a disk whose power can be cut, and a witness that keeps its own. Out: a verdict.
//
//  1. Record writes numbered, checksummed records, each followed by fdatasync. It tells the
//     witness "wrote N" before the sync and "synced N" after it has returned.
//  2. Listen, or whoever reads what Record says, keeps that as a log (ReadLog).
//  3. Somebody cuts the power, and starts the machine again.
//  4. Scan finds the records that are there.
//  5. Judge compares. A record whose sync had returned and that is not there is a lie
//     somewhere below fdatasync. Records that were written but not synced may be lost; if some
//     are, the cut had something to drop.
//  6. Summarise adds up the cuts: without any loss they bound how probable one is.
//
// The records have a number, the run's ID and a checksum, so records of an earlier run, or a
// record that is written in part, count as lost. Each has a block of its own and is never
// overwritten: what was acknowledged never depends on a write that was under way.
//
// A log and a disk may hold anything. Everything is read within limits.
package powercut
