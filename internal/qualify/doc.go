// Package qualify knows what storage must do for a purpose, such as etcd's log: the workload that is
// like it, in trials of a few seconds, and the limits for what it measures.
//
// What goes in is the name of a purpose; what comes out is a Purpose: data, with the source of each
// limit. Where sources differ, the strictest decides and the others are named, so that whoever reads the
// answer can see what it hangs on. A limit without a source is marked as ours: it is a place to start
// from, not a fact. It is pure.
package qualify
