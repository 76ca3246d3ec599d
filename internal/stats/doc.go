// Package stats turns trials into estimates and decisions. It is pure.
//
// The trial is the replicate: a million I/Os of one trial are one observation. An interval speaks
// only for what was replicated:
//
//   - MedianOf, for one volume in these minutes: order statistics of its trials, widened if they are
//     autocorrelated. Looks says how often it may be looked at while trials are added: with
//     exact spending ranks, a decision after every trial errs no more often than one at the end.
//   - VolumeInterval, for the class of volumes: Student's t on the volumes' means of logarithms.
//   - CompareBlocks, for one arm (a variant, a target) against another: one difference for each
//     randomised block, Hodges and Lehmann's estimate, the interval and test of signed ranks.
//     CompareVolumes does so over volumes. CompareArms and CompareClasses are for what was not in blocks.
//
// DecideGate and DecideVolumeGate decide on an interval's bound, and say how many more trials or
// volumes would decide. Better and Worse are corrected for the number of comparisons by
// CorrectForAll; NoDifference is shown by equivalence, not by the lack of a difference.
//
// Fold makes a run's summary of its workers' summaries with these. Percentiles of latency are
// never averaged over trials: those of the run come from the merged histograms, next to the
// median and interval of the trials' own percentiles, on which gates are decided.
package stats
