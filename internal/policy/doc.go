// Package policy decides which tunables a benchmark may set. It is pure.
//
// In: the TunablePolicies of the cluster, the benchmark's namespace, the nodes that
// it measures on, and its variants. Out: for each tunable the devices and datasets on
// which it may be set, or a *trial.Failure that says which permission is missing.
//
// Everything is forbidden unless a policy permits it. A tunable needs one policy that
// matches the namespace and every node and names the tunable and the value. What
// several such policies permit adds up. A value that can lose data needs the consent
// of the benchmark and of the policy.
package policy
