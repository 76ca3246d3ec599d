// Package paired compares two rates on a machine that is not quiet.
//
// Two sides are measured in turn, in pairs whose order changes (ABBA), so that a drift
// of the machine falls on both. What is reported is the ratio of the medians, with its
// 95 % interval from resampling pairs, or, where both of a pair see the same seconds of
// a machine whose speed drifts, the median of the pairs' ratios. Where others share the
// machine a pair says little, and it takes many: pairs are added until the interval is
// narrow, or until there are too many. Its width decides and not its place, so that
// nobody stops at the moment at which the ratio pleases.
package paired
