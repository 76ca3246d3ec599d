// Package samples defines what is recorded of a trial over time.
//
// In: rows, each of which says what a disk, the workload or the machine did in one interval.
// Out: a Table of columns, from which package verdict judges how steady a trial was, and which
// package codec writes as a Parquet file. The columns are those of docs/reference/samples.md.
package samples
