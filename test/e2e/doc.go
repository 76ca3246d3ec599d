// Package e2e runs benchmarks on a real cluster, with real kubelets, volumes,
// workers and fio, and a real object store (build tag e2e; make test-e2e).
//
// It wants the operator installed (make deploy), two nodes, the StorageClasses
// loop-ext4 and loop-xfs, and MinIO in the namespace minio: what hack/cluster makes.
// Every test has a namespace of its own and checks that nothing is left in it.
package e2e
