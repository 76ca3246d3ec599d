// Package verdict judges what a trial's numbers are worth. It is pure.
//
// In: the document of a trial, whose metrics hold what the engine measured and what the kernel
// counted meanwhile, and the environment, with the layers of storage below the target. Out:
// verdicts, each with a name, an effect, a sentence, and its evidence in numbers.
//
// Every check answers one question and knows nothing of the others, except that a check that
// names a cause (memory, holes, compression) comes before the one that sees only its effect.
//
// What came from memory is a matter of arithmetic. If an application read A bytes and the
// disks read D, the share 1−D/A came from memory. Less than a tenth may be metadata and
// rounding. From a half on, the median is that of memory, and so is the rate; the number is
// not the storage's any more. For writes, D counts what had reached the disks when the clock
// stopped, with the copies of a mirror counted once.
//
// If a trial of fio has several jobs, each is a row, and a verdict names the rows that it is about. The checks of a job's own options and
// numbers are asked of each row; what is missing on the disks is put on the jobs that go through memory;
// and the checks over time are asked again of each row for the time that it had the disks to itself.
//
// A check that lacks its evidence is silent. NoDeviceEvidence says when all of them do.
package verdict
