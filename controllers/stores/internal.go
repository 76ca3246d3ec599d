package stores

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// Default is the name of the ResultStore that a benchmark without spec.results uses, if there
// is one that takes results of its namespace.
const Default = "default"

// Internal stands for the operator's own store (package inbox), which holds the documents of a
// run that has no ResultStore until its answer is in its status. It is no object of the API: it
// has no name.
func Internal() *v1alpha1.ResultStore {
	return &v1alpha1.ResultStore{Status: v1alpha1.ResultStoreStatus{Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: reason.StoreWritable,
	}}}}
}

// IsInternal reports whether a store is the operator's own.
func IsInternal(rs *v1alpha1.ResultStore) bool { return rs != nil && rs.Name == "" }
