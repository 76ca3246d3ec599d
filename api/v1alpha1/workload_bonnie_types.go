package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// BonnieWorkload runs bonnie++, in the test's own order: one file written by
// characters and by blocks, rewritten, read by characters and by blocks, seeks in it;
// then small files created, looked up and deleted, in order and at random. A test that
// takes less than half a second has only a lower bound of its rate. What the metrics mean is in
// docs/reference/workload-bonnie.md.
type BonnieWorkload struct {
	// size of the large file, from 16Mi to less than 2Ti, rounded down to whole Mi. Default:
	// chosen by the worker: twice what the page cache (the worker's memory limit, or the node's
	// memory) or the ARC of ZFS can hold, at most 64Gi and 80 % of what is free. The trial's
	// document says why.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// chunkSize is the size of a block, a power of two from 256 to 1Mi. Default: 8Ki.
	// +optional
	ChunkSize *resource.Quantity `json:"chunkSize,omitempty"`

	// files, in units of 1024, of the second half; they are empty. 0 leaves it out.
	// Default: 16.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Files *int64 `json:"files,omitempty"`

	// perCharacter is false to leave out the tests by single characters, which measure
	// how fast the node makes system calls of one byte. Default: true.
	// +optional
	PerCharacter *bool `json:"perCharacter,omitempty"`
}
