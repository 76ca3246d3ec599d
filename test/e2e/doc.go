// Package e2e runs benchmarks on a real cluster, with real kubelets, volumes,
// workers and fio, and a real object store (build tag e2e; make test-e2e).
//
// It wants the operator installed (make deploy), the StorageClasses loop-ext4 and
// loop-xfs, MinIO in the namespace minio, and nodes: two, and for tests that stop nodes
// more than those that the operator, MinIO and DNS run on. NODES=4 make cluster-up makes
// all of that.
//
// Tests run side by side. One that does begins with
//
//	t.Parallel()
//	l := newLab(t, "restricted")
//
// and has, until its end, a namespace (l.namespace) and a node (l.node) that no other test
// uses, so that it never waits in another's queue and may cordon the node. What
// l.benchmark makes is measured there, by the worker l.worker("ext4"). For more, newLab
// takes options: nodes(2) for several nodes (l.nodes), disposable for a node that the test
// stops, refused where nothing is to run, and alone for a test that disturbs what all others need (it kills the operator,
// takes MinIO away, changes a flag): that one does not call t.Parallel, and tests of
// test/zfs wait for it too (package test/turns). A test without t.Parallel runs before
// those with it, one after the other.
//
// A test that injects a fault calls l.met when the fault is over, which counts it and watches the
// benchmark in the background: the test fails if, a minute later, the benchmark has neither ended
// nor says what it waits for.
//
// The machine may be small and busy: a test waits for a condition and never for a time,
// and asserts nothing about how fast something was. It checks that it leaves nothing
// (l.nothingLeft).
package e2e
