// Package stats turns trials into estimates. It is pure.
//
// The trial is the replicate: a median is over trials, and its interval is the
// distribution-free one of order statistics, which assumes nothing but that the
// trials are independent draws. Percentiles of latency are never averaged over
// trials: those of the run come from the merged histograms, and beside them stand
// the median and interval of the trials' own percentiles.
package stats
