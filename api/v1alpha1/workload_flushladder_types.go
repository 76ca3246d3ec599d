package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// FlushLadderWorkload measures what it costs to make one block durable in each way that there
// is, and how long a flush takes after more and more was written. A disk of which a flush
// takes no longer may ignore flushes.
type FlushLadderWorkload struct {
	// size of the file, or of the beginning of the device, that is overwritten, and the most that is
	// written before a flush: from 8Mi to 64Gi, a multiple of 1Mi. Default: 256Mi, or 80 % of
	// what is free if that is less.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// operations of each step: how often one block is written. Default: 300.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=100000
	Operations int32 `json:"operations,omitempty"`

	// repeats is how often a flush is timed after each amount of writes. Default: 5.
	// +optional
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=50
	Repeats int32 `json:"repeats,omitempty"`
}
