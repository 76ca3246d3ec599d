// Package benchmark takes a StorageBenchmark from spec to status.
//
// Reconcile is a table of contents. Each step either has nothing to do and lets the next one
// have its turn, or does what there is to do and ends the pass with an outcome:
//
//	adopt    adopt.go    a run that release 0.1 recorded
//	remove   remove.go   a deleted benchmark: its workers go, then the finalizer
//	protect  remove.go   the finalizer, before anything is made
//	rest     rest.go     a finished run: its time to live
//	stop     stop.go     suspended, or the spec has changed: its workers go
//	start    start.go    checks (package admission), the plan, and the run's record
//	run      run.go      observe, decide (package progress), act
//
// Whatever happens, summarize (summarize.go) writes conditions, status and events, once, at
// the end. Nothing else writes a benchmark's status. What a step reads comes from the cache,
// so that a pass in which nothing has changed asks the API server for nothing.
//
// Nothing is remembered between two passes but what stands in the status, in the cluster and
// in the result store, so the operator may be killed at any moment.
package benchmark
