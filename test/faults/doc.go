// Package faults counts the faults that tests inject into experiments with tunables, the
// settings that are found changed after them, and the benchmarks that are wedged by them
// (make test-faults).
//
// Tests of three packages call it. Those of this one need root and bin/storagebench: they
// end a worker's process at each step of the journal, on a real loop device, and in rows that
// a seed chooses. Those of test/e2e do it to Pods, Jobs, nodes, the operator, kubelets,
// records, benchmarks and namespaces. Those of test/zfs pull the plug of a machine.
//
// Each fault is counted once, when it has been injected. A changed setting counts against the
// fault, except where the fault is that somebody else changed it: then the operator must
// report it, and the test restores it. So does each benchmark that, a minute after the fault
// is over, has neither finished nor failed and says in no condition what it waits for.
//
// In: the name of a fault, of a setting or of a benchmark. Out: a line in the file that
// STORAGEBENCH_FAULTS names, for make test-faults to add up; without it, nothing.
package faults
