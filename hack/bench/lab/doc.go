// Package lab gives the benchmarks of hack/bench access to a cluster: a client,
// the result store, a node, and a namespace that is removed at the end.
package lab
