// Package cluster is what tests against a real cluster share: the client, the object store of
// the local cluster, and what a node or a benchmark is like.
//
// In: the kubeconfig, as kubectl finds it. Out: a client with the operator's types.
package cluster
