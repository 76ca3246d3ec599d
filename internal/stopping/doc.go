// Package stopping decides which trial a worker runs next, and when it needs no more. It is pure:
// what goes in is the plan, the worker's share of the budget and the trials that are stored, and
// nothing else. So a worker that was killed goes on as if it had not been, and the operator, which
// reads the same trials, knows whether a worker that ended had any left to run.
//
//  1. Trials belong to groups: a workload with all of its variants, which are compared and so
//     are measured equally often; or, if their order is not random, with one.
//  2. Every group has its minimum of repeats, in the plan's order. After that, it goes on in
//     steps: a block of what is compared, or three trials. A median's interval is that of the
//     summary, whose ranks allow for every look.
//  3. After each step, a group ends when its intervals are narrow enough. What is compared is
//     judged by the spread of equal trials alone, which sees no difference between variants:
//     stopping because one seems significant would find differences where there are none.
//  4. A workload whose gates end it (trial.Stop.Gates) is looked at after every trial, and ends when
//     all of its gates are decided at one look: by the bounds of intervals whose ranks allow for
//     every look, so that all decisions together err in at most 5 % of runs. Where something is
//     compared, gates end nothing, as a decision depends on what differs. If gates alone end it, it
//     also ends when none of those that are open can be decided any more, whatever the trials up to
//     the maximum measure: there are too many on both sides of the limit.
//  5. If there is a budget, the next step is for the group whose intervals are widest for what
//     a step of it costs, and there is none that the worker's share of the budget does not cover.
//     A worker gets its share when it begins (Share): what those before it did not use is
//     divided equally among those that have not ended.
package stopping
