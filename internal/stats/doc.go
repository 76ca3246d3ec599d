// Package stats turns trials into estimates. It is pure.
//
// The trial is the replicate: medians are over trials, and their intervals are
// the distribution-free ones of order statistics, which assume only that the
// trials are independent. Percentiles of latency are never averaged over trials:
// those of the run come from the merged histograms, next to the median and
// interval of the trials' own percentiles.
package stats
