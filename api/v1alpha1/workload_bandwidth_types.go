package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// BandwidthOperation is a direction.
type BandwidthOperation string

const (
	// BandwidthWrite writes from the start to the end.
	BandwidthWrite BandwidthOperation = "Write"
	// BandwidthRead reads from the start to the end what was written before.
	BandwidthRead BandwidthOperation = "Read"
)

// BandwidthWorkload moves data in sequence: what dd is used for, with the rate at
// which the kernel took the data apart from the rate at which it was durable.
type BandwidthWorkload struct {
	// operations in the order in which a trial does them. A trial that begins with
	// Read reads what is written once, before the first trial. Default: Write, Read.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=Write;Read
	Operations []BandwidthOperation `json:"operations,omitempty"`

	// size that a trial writes and reads, a multiple of blockSize. Default:
	// chosen by the worker: 1Gi, or twice what a cache below the target can hold (a loop
	// device's, the ARC of ZFS), at most 64Gi and 80 % of what is free. The trial's document
	// says why.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// blockSize is how much is moved at once, from 512 to 64Mi. Default: 1Mi.
	// +optional
	BlockSize *resource.Quantity `json:"blockSize,omitempty"`

	// depth is how many blocks are under way at once, each from a thread of its own;
	// all of them together have at most 256Mi. Default: 1, as with dd.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Depth int32 `json:"depth,omitempty"`

	// direct bypasses the page cache (O_DIRECT), for which blockSize is a multiple of
	// 512. Without it, what was written is dropped from the page cache before it is
	// read. Default: true.
	// +optional
	Direct *bool `json:"direct,omitempty"`
}
