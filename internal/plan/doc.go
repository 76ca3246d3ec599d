// Package plan turns a StorageBenchmark into a trial.Plan. It is pure.
//
// In: the benchmark, the ID of the run, the names of the chosen nodes, and what
// the spec does not tell (the mode of an existing claim). Out: the plan, or a
// *trial.Failure that names the field and the remedy.
//
//  1. Each target becomes a trial.Target.
//  2. Each workload becomes a trial.Workload: its engine is the one field set
//     besides the name, and its configuration is that field's JSON, which the
//     engine itself checks. A new engine therefore needs no code here.
//     A workload with a sweep becomes one at each point, each with its precondition.
//  3. The trials alternate: every workload once, then every workload again, and the variants
//     of a workload side by side in random order, in blocks, so that a slow change of the
//     system affects all of them alike. The seed of the order is the run's own, and recorded.
//  4. There is one worker for each node and target, node by node: a node is
//     acquired once, and what is compared on it is measured close together.
package plan
