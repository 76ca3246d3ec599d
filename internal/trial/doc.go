// Package trial is the contract between the operator and the runner.
//
// A Plan is everything that the workers of one run need to know. The operator
// (or `storagebench run`) makes it from a StorageBenchmark with package plan,
// stores it as plan.json, and puts the same bytes into a ConfigMap. Each worker
// is told its name and finds in the plan what it measures (its Target), with
// what (the Workloads), in which order (the Trials).
//
// A Grant is what a worker may do with the result store: URLs that are signed
// for its own objects. A Receipt is what it leaves in its termination message:
// how far it came and, if it failed, a Failure whose Class the operator turns
// into a condition. Numbers never travel in the receipt; they are in the store.
//
// The package imports the standard library only, so that both sides, and other
// programs, can depend on it.
package trial
