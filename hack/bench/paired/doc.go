// Package paired compares two rates on a machine that is not quiet.
//
// Two sides are measured in turn, in pairs of alternating order (ABBA), so that a drift
// of the machine affects both. The result is the ratio of the medians, with its 95 %
// interval from resampling pairs. If both sides of a pair see the same seconds of a
// machine whose speed drifts, the result is the median of the pairs' ratios, or their geometric mean if each
// side of a pair is a mean of many slices. On a
// shared machine a single pair says little, so pairs are added until the interval is
// narrow or there are too many. The width of the interval decides, not its position, so
// that nobody can stop when the ratio looks good.
package paired
