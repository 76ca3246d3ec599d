// Package histogram counts latencies in histograms that can be merged.
//
// Percentiles of different trials cannot be averaged; histograms can be added.
// A Histogram counts nanoseconds in the layout of fio's json+ bins, with 64
// buckets per octave. So it keeps fio's counts bucket for bucket, and those of
// our own engines can be added to them. The error of a value read from it is at
// most 1/128 of the value (0.78 %).
package histogram
