// Package knee finds the highest rate at which storage keeps a promise, such as p99 at most 2 ms. It
// is pure.
//
// In: the range of rates and the probes that were made, each a trial of an open loop: the storage kept the
// promise, or it did not, because a latency was above the limit or the rate was not achieved. Out: the rate
// of the next probe, or the answer.
//
//  1. The lowest rate, then the highest. If the lowest is too much, or the highest is not, the knee is
//     outside the range, and the answer is a bound.
//  2. Bisection on a logarithmic scale, until the lowest rate that was too much is within 5 % of the
//     highest below it that was not.
//  3. Each end is probed again, so that one odd trial decides nothing. If an end does not stand, the
//     search goes on from what does.
//
// A probe close to the limit decides only with another that agrees. One that was disturbed from outside and too
// slow does not count; too many of them at a rate end the search without an answer.
package knee
