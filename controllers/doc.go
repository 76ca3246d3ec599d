// Package controllers holds the operator's two controllers.
//
// ResultStoreReconciler writes, reads and deletes a small object in each store
// from time to time and says in the condition Available how that went.
//
// StorageBenchmarkReconciler takes a benchmark from spec to status. Its Reconcile
// is a table of contents; each step has a file:
//
//	fetch      storagebenchmark_controller.go
//	start      start.go      checks what the spec needs and records a run
//	observe    observe.go    gathers the Jobs, Pods, Leases and the store into a progress.World
//	decide     package progress
//	act        act.go        carries out the actions; settle.go reads the results
//	status     storagebenchmark_controller.go: one write at the end, then events
//
// Nothing is remembered between two calls but what stands in the status and in
// the cluster, so the operator may be killed at any moment.
package controllers
