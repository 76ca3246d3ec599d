// Package answers asks whether storagebench's answers hold on a real cluster (make test-answers): whether
// qualify answers in a minute, whether equal things are called equal and unequal ones different, and how
// much sooner a rule for stopping answers than a plan of a fixed length.
//
// Each experiment creates StorageBenchmarks as a user would, and reads their status. A class is made
// slower by a fifth with the block I/O controller of this machine's cgroups, on the loop devices of its
// volumes.
//
// In: the kubeconfig, bin/storagebench, and TIMES, how often an experiment is repeated. Out: a line for
// each answer in the file that STORAGEBENCH_ANSWERS names, for hack/test-answers to add up.
package answers
