// Package trial is the contract between the operator and the runner.
//
// A Plan is everything that the workers of one run need to know. The operator
// (or `storagebench run`) builds it from a StorageBenchmark with package plan,
// stores it as plan.json, and puts the same bytes into a ConfigMap. Each worker
// gets its name and finds in the plan what to measure (its Target), with what
// (the Workloads), and in which order (the Trials).
//
// A Grant is what a worker may do with the result store: URLs that are signed
// for its own objects. A Receipt is the worker's termination message: how many
// trials it stored and, if it failed, a Failure whose Class the operator turns
// into a condition. The receipt holds no measurements; they are in the store.
//
// The package imports the standard library only, so that both sides, and other
// programs, can depend on it.
package trial
