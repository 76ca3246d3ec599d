// Package compare says whether one run is worse than another. It is pure: two
// summaries and the worst change that is acceptable go in, a verdict with its
// reasons comes out.
//
//  1. Rows are matched by target, workload and node. Remaining rows are matched by
//     workload, if each side has exactly one row of it. A row of the first summary
//     without a counterpart makes the verdict inconclusive: something that was
//     measured before and is missing now is not "no worse".
//  2. For each pair, the headline metrics that both rows have are compared: for each
//     operation its rate, or else its bandwidth, and its p99; and durations. The metric's
//     name tells which direction is better.
//  3. The ratio of the medians, second over first, has an interval that is computed from
//     those of the two medians: from low₂/high₁ to high₂/low₁. Both medians lie in their
//     95 % intervals with a probability of at least 0.95² = 90 %, and then the ratio lies
//     in its own. In practice the probability is higher, because the ratio can lie inside
//     even when one of the medians does not. The interval is wider than a 95 % interval
//     has to be, so the verdict is "inconclusive" more often than with the trials' own
//     values, which a summary does not hold.
//  4. With fewer than 6 trials on either side there is no interval, and no verdict.
//
// A metric has regressed if all of its interval lies beyond the acceptable change, is
// no worse if none of it does, and is inconclusive otherwise. One regression makes the
// run a regression; otherwise one inconclusive metric makes it inconclusive.
package compare
