// Package histogram holds latencies so that they can be merged.
//
// Percentiles of different trials cannot be averaged; histograms can be added.
// A Histogram counts nanoseconds in the layout of fio's json+ bins, 64 buckets
// an octave, so that what fio counted is kept bucket for bucket, and what our
// own engines count can be added to it. The error of a value read from it is at
// most 1/128 of the value (0.78 %).
package histogram
