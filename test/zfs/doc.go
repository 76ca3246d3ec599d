// Package zfs runs on a node with real ZFS: the virtual machine that test/zfs/guest
// makes and joins to the local cluster (build tag zfs; make test-zfs).
//
// It wants the operator installed and the guest up, and waits for tests of test/e2e that
// must be alone (package test/turns). A test has a namespace of its own
// (newLab), runs scripts on the node in privileged Pods (lab.pod) or beside
// Kubernetes (inGuest), and may cut the node's power (powerCut) and boot it again
// (powerOn); it leaves a guest that is up. What the pool, its dataset tank/bench or
// ZFS's module parameters were set to is put back by the test that set it.
package zfs
