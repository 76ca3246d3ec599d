package v1alpha1

// Variant is one way in which the storage is set while trials run. The settings of a
// variant are made before each of its trials and put back after it.
type Variant struct {
	// name of the variant, in results and object keys.
	// +required
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// tunables to set, in this order; docs/reference/tunables.md lists them. A
	// TunablePolicy must permit each for the namespace and the node. Default: none,
	// the storage as it is.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Tunables []Tunable `json:"tunables,omitempty"`

	// acceptDataLoss must be true for a tunable with which a power failure loses
	// what was acknowledged, or the pool. A TunablePolicy must permit that as well.
	// Default: false.
	// +optional
	AcceptDataLoss bool `json:"acceptDataLoss,omitempty"`
}

// Tunable is a setting of the storage and the value that it is given.
type Tunable struct {
	// name of the tunable, such as block.queue.scheduler.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+(\.[a-z0-9_]+)+$`
	Name string `json:"name"`

	// value that it is set to, a whole number or a string. on and off need quotes, as
	// YAML reads them as booleans.
	// +required
	// +kubebuilder:validation:XValidation:rule="type(self) == int || self.size() <= 64 && self.matches('^[A-Za-z0-9 ._:+-]+$')",message="value must be a whole number, or 1 to 64 of the characters A-Z a-z 0-9 space . _ : + -"
	Value Scalar `json:"value"`
}
