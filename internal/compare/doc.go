// Package compare says whether one run is worse than another. It is pure: two
// summaries and the worst change that is acceptable go in, a verdict with its
// reasons comes out.
//
//  1. Rows are matched by target, workload and node; what is left, by workload, if
//     there is one row of it on either side. A row of the first summary that has no
//     counterpart makes the verdict inconclusive: what was measured before and is
//     missing now is not "no worse".
//  2. Of each pair, the headline metrics that both have are compared: for each operation its rate,
//     or else its bandwidth, and its p99; and durations. The name says which direction
//     is good.
//  3. The ratio of the medians, second over first, has an interval that is made of
//     the two medians' own: from low₂/high₁ to high₂/low₁. Both medians lie in their
//     95 % intervals with at least 0.95² = 90 % probability, and then the ratio lies in
//     its own. That bound is never reached in practice, as the ratio can still lie inside
//     when one of them does not: the interval is wider than a 95 % interval has to be,
//     so the answer is "inconclusive" more often than with the trials' own values,
//     which a summary does not hold.
//  4. With fewer than 6 trials on either side there is no interval, and no verdict.
//
// A metric has regressed if all of its interval lies beyond the acceptable change, is
// no worse if none of it does, and is inconclusive otherwise. One regression makes the
// run a regression; otherwise one inconclusive metric makes it inconclusive.
package compare
