// Package policy decides which tunables a benchmark may set. It is pure.
//
// In: the TunablePolicies of the cluster, the benchmark's namespace, the nodes that
// it measures on, and its variants. Out: for each tunable the devices and datasets on
// which it may be set, or a *trial.Failure that names the rule that is missing.
//
// Nothing is permitted but by a policy. A tunable needs one policy that matches the
// namespace and every node and names the tunable and the value; what several of them
// permit adds up. A value that can lose data needs the benchmark's own consent as well
// as the policy's.
package policy
