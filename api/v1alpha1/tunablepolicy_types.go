package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TunablePolicySpec says which tunables benchmarks may set: from which namespaces, on
// which nodes, on which devices and datasets, to which values. What no policy permits
// is refused; several policies permit what each of them does.
type TunablePolicySpec struct {
	// namespaceSelector chooses the namespaces whose benchmarks may set the tunables,
	// by their labels; kubernetes.io/metadata.name is a namespace's own name. An
	// empty selector chooses every namespace.
	// +required
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector"`

	// nodeSelector chooses the nodes on which they may be set, by their labels.
	// Default: every node.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// devices are patterns of the names of disks whose settings may be changed, as
	// in /sys/block: loop*, nvme1n1. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_.*?\[\]!-]+$`
	Devices []string `json:"devices,omitempty"`

	// datasets are patterns of ZFS datasets whose properties may be changed:
	// tank/bench, tank/lab-*. A * ends at a slash. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_.:/*?\[\]!-]+$`
	Datasets []string `json:"datasets,omitempty"`

	// tunables that may be set.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Tunables []PermittedTunable `json:"tunables"`

	// allowDataLoss also permits values with which a power failure loses what was
	// acknowledged, or a whole pool. The benchmark must accept that too. Default: false.
	// +optional
	AllowDataLoss bool `json:"allowDataLoss,omitempty"`
}

// PermittedTunable is a tunable, or all whose names begin alike.
type PermittedTunable struct {
	// name of the tunable, or its beginning with .* at the end: block.queue.*
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+(\.[a-z0-9_]+)*(\.[a-z0-9_]+|\.\*)$`
	Name string `json:"name"`

	// values that it may be set to, whole numbers or strings. Default: every value that
	// the tunable takes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Values []Scalar `json:"values,omitempty"`
}

// TunablePolicy permits benchmarks to change settings of nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=tp,categories=storagebench
// +kubebuilder:printcolumn:name="Tunables",type=string,JSONPath=`.spec.tunables[*].name`
// +kubebuilder:printcolumn:name="Devices",type=string,JSONPath=`.spec.devices`
// +kubebuilder:printcolumn:name="Data loss",type=boolean,JSONPath=`.spec.allowDataLoss`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TunablePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is permitted.
	// +required
	Spec TunablePolicySpec `json:"spec"`
}

// TunablePolicyList is a list of TunablePolicies.
//
// +kubebuilder:object:root=true
type TunablePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TunablePolicy `json:"items"`
}
