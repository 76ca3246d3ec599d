// Package faults counts the faults that tests inject into experiments with tunables,
// and the settings that are found changed after them (make test-faults).
//
// Tests of three packages call it: those of this one, which need root and
// bin/storagebench, end a worker's process at each step of the journal, on a real loop
// device; those of test/e2e do it to Pods, the operator, a kubelet, benchmarks and
// namespaces; those of test/zfs pull the plug of a machine. Each fault is counted once, when it has been injected, and each setting that
// is not what it was before counts against it, unless the fault is that somebody else
// has changed it, which must be said and is put back by the test.
//
// In: the name of a fault, or of a setting. Out: a line in the file that
// STORAGEBENCH_FAULTS names, for make test-faults to add up; without it, nothing.
package faults
