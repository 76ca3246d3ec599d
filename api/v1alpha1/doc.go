// Package v1alpha1 is the API of storagebench: what a platform team writes
// (StorageBenchmark.spec, ResultStore.spec) and what it reads back (status).
//
// Each kind has a file; larger parts, as statuses, gates, sweeps and workloads, have files
// of their own. condition_types.go holds the conditions of all kinds; package reason
// (api/reason) has their reasons. The rules that a schema can hold are CEL rules
// beside the fields, with messages that say what to do; there is no webhook.
// The package imports apimachinery and k8s.io/api and nothing of storagebench,
// so that other programs can depend on it alone.
//
// +kubebuilder:object:generate=true
// +groupName=storagebench.io
package v1alpha1
