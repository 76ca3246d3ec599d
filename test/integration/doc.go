// Package integration runs the operator's controllers against a real API server
// and a real object store (build tag integration; make test-integration).
//
// There is no kubelet: the tests play the workers, so that they can end in every
// way, and what the API server enforces (schemas, CEL rules, ownership) is real.
// test/e2e has the kubelet and the real workers.
package integration
