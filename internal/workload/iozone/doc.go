// Package iozone measures a matrix, test by test for each file size and record size, as
// iozone does, and reads what iozone prints.
//
// In: the iozone field of a workload and a target with a file system. Out: a
// result.Measurement for each trial, which is a whole matrix.
//
//  1. decode checks the configuration: how many cells there are, and that both programs
//     can measure each of them.
//  2. Run takes iozone where it is installed, which is no free software and in no image
//     of ours, and fio otherwise. Either is executed once for each cell, on one file that
//     all tests of the cell use one after the other: it is written, written again, read,
//     read again, read and written at random. What was not asked for is done where a
//     later test needs it, and not reported.
//  3. A cell becomes the metric <test>.<file>.<record>.bandwidth, such as
//     write.64MiB.4KiB.bandwidth. The operations of the trial, such as write.bandwidth,
//     are those of the largest file with the largest record.
//  4. Parse reads the tables of iozone. It is pure, and used for the text of other
//     machines as well.
package iozone
