// Package upgrade has a cluster in which an older release works, upgrades it to this one, and
// looks at what became of every benchmark (build tag upgrade; make test-upgrade).
//
// hack/test-upgrade names the older release, builds it from the repository's history and
// installs it. The one test then
//
//	begins   stories_test.go  each story makes a benchmark and brings it where it is to be
//	                          when the release changes: finished, running, queued, suspended, …
//	upgrades upgrade_test.go  the new CRDs, with which the old operator still works for a
//	                          moment; then hack/deploy, as a user's helm upgrade
//	ends     stories_test.go  each story checks what the new operator made of its benchmark
//
// and sees that nothing is left at the end. No benchmark that has ended may be run again, no
// trial may be lost, and every setting of a node must be what it was before.
//
// What an old operator leaves behind that needs no kubelet is also in
// test/integration/testdata, as it was found in such a cluster.
package upgrade
