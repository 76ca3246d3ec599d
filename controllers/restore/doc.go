// Package restore puts the settings of nodes back.
//
// A worker with tunables changes settings of its node. Before its Job is let go, Open writes
// the node's record, a NodeRestore that has the node's name. It is the operator's: no tenant
// can delete it, and it outlives the benchmark, its namespace, and the operator's process.
// As long as it is there, no benchmark starts on the node.
//
// The Reconciler watches the records, the workers' Jobs and Pods, its own Jobs, and the
// nodes. When the worker of a record has ended, however it ended, a Job on the node reads
// the node's journal and puts back what is in it. What a worker says of itself is not taken
// for it: whoever can create Pods in its namespace can say the same. The Job has a name that
// only this attempt for this record has. When it succeeds, the record is deleted.
//
// A node that is away is waited for, and restored when it is ready again. A node that was
// deleted is recorded as Gone, which blocks nothing. If a node of its name is there again, it
// is restored before anything is measured on it: the machine may be the same one, on which
// nobody has put anything back, and one that was installed anew has no journal, so that
// nothing happens to it. A node that an administrator gives up by an annotation is recorded as
// Abandoned: what its journal still holds is put back by the next worker with tunables there.
//
// Admitted asks, before a setting is changed, whether such a Job's Pod could be created at all.
package restore
