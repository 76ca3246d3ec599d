// Package compare says whether one run is worse than another. It is pure: two
// summaries and the worst change that is acceptable go in, a verdict with its
// reasons comes out.
//
//  1. Rows are matched by target, workload and node. Remaining rows are matched by
//     workload, if each side has exactly one row of it. A row of the first summary
//     without a counterpart makes the verdict inconclusive: something that was
//     measured before and is missing now is not "no worse".
//
//  2. For each pair, the headline metrics that both rows have are compared: for each
//     operation its rate, or else its bandwidth, and its p99; and durations. The metric's
//     name tells which direction is better.
//
//  3. The ratio of the medians, second over first, has an interval that is recovered from
//     those of the two medians, in logarithms: the distances of the medians from the ends that
//     matter are added as the sides of a right angle (MOVER; Zou and Donner, Construction of
//     confidence intervals about effect measures, 2008). It speaks for these two runs.
//
//  4. With fewer than 6 trials on either side there is no interval, and no verdict.
//
//  5. Environments and configurations are compared too, and what differs is named. A workload
//     that is configured differently is another workload: its rows are inconclusive.
//
// A metric has regressed if all of its interval lies beyond the acceptable change, is
// no worse if none of it does, and is inconclusive otherwise. One regression makes the
// run a regression; otherwise one inconclusive metric makes it inconclusive.
package compare
