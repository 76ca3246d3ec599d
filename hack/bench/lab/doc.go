// Package lab is the cluster as the benchmarks of hack/bench use it: a client, the
// result store, a node, and a namespace that is removed at the end.
package lab
