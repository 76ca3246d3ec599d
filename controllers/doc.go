// Package controllers wires the operator's controllers together: Scheme, Cache and Setup are
// all that its program needs. What they decide has a room of its own each:
//
//	schedule    a StorageBenchmarkSchedule: makes benchmarks, and says since when they are slower
//	benchmark   a StorageBenchmark, from spec to status; calls the others
//	metrics     what benchmarks have measured, and what the operator waits for, for Prometheus
//	workers     Jobs of workers, and what they own
//	admission   can it be run: facts, a chain of pure checks, the nodes, the tunables
//	leases      who has a node, and who is next
//	results     documents in the result store
//	restore     NodeRestores: settings of nodes that have to be put back
//	nodes       is a node ready, and is it as it was
//	state       how far Jobs, Pods and namespaces are
//	fence       do the admission policies hold that bound what the operator may do
//	stores      ResultStores: clients, and the condition Available
//	written     versions of objects that the operator itself has written last
//	trim        what the cache keeps of metadata that tenants write
//	action      what is logged and counted of every change
//
// Calls run downwards in this list, and never back.
package controllers
