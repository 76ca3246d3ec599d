package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "storagebench.io", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package, and the meta types that a
// client needs to list and watch them, with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&StorageBenchmark{}, &StorageBenchmarkList{},
		&StorageBenchmarkSchedule{}, &StorageBenchmarkScheduleList{},
		&ResultStore{}, &ResultStoreList{},
		&TunablePolicy{}, &TunablePolicyList{},
		&NodeRestore{}, &NodeRestoreList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
