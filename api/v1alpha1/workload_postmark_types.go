package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// PostmarkMode says which PostMark it is.
type PostmarkMode string

const (
	// PostmarkModern has threads, durability, data of its own in each file, latencies
	// and an account of what its transactions did.
	PostmarkModern PostmarkMode = "Modern"
	// PostmarkCompatible makes the same decisions as NetApp's program, so that every
	// count and every total of bytes is the same for the same settings.
	PostmarkCompatible PostmarkMode = "Compatible"
)

// PostmarkDurability says what of a transaction must be durable before the next begins.
type PostmarkDurability string

const (
	// PostmarkDurabilityNone leaves it to the kernel. The rate is that of memory.
	PostmarkDurabilityNone PostmarkDurability = "None"
	// PostmarkDurabilityFile syncs each file that was written before it is closed.
	PostmarkDurabilityFile PostmarkDurability = "File"
	// PostmarkDurabilityFileAndDirectory also syncs the directory after a create or a delete.
	PostmarkDurabilityFileAndDirectory PostmarkDurability = "FileAndDirectory"
	// PostmarkDurabilitySyncAtEnd syncs the file system once, within the time that is measured.
	PostmarkDurabilitySyncAtEnd PostmarkDurability = "SyncAtEnd"
)

// PostmarkWorkload creates files, runs transactions on them (read or append, and
// create or delete), and deletes them. What the metrics mean is in
// docs/reference/workload-postmark.md.
//
// +kubebuilder:validation:XValidation:rule="has(self.mode) && self.mode == 'Compatible' || !has(self.buffered)",message="buffered is for mode Compatible: mode Modern gives the kernel blocks as they are"
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'Compatible' || (!has(self.threads) || self.threads == 1) && (!has(self.durability) || self.durability == 'None')",message="mode Compatible has one thread and durability None, as the original: use mode Modern for more"
type PostmarkWorkload struct {
	// mode is Modern or Compatible. Default: Modern.
	// +optional
	// +kubebuilder:validation:Enum=Modern;Compatible
	Mode PostmarkMode `json:"mode,omitempty"`

	// files that are there when the transactions begin. Default: 20000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	Files int64 `json:"files,omitempty"`

	// transactions to run, over all threads. Default: 100000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000000
	Transactions int64 `json:"transactions,omitempty"`

	// subdirectories that the files of each thread are spread over. Default: 0, all in
	// one directory, of which each thread has its own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Subdirectories int64 `json:"subdirectories,omitempty"`

	// minSize of a file, from 1 to 1Gi. Default: 500 bytes.
	// +optional
	MinSize *resource.Quantity `json:"minSize,omitempty"`

	// maxSize of a file, from minSize to 1Gi. New files are smaller, unless minSize is
	// the same; appends stop at it. Default: 10000 bytes.
	// +optional
	MaxSize *resource.Quantity `json:"maxSize,omitempty"`

	// readBlockSize is how much is read at once, from 1 to 64Mi. Default: 512 bytes.
	// +optional
	ReadBlockSize *resource.Quantity `json:"readBlockSize,omitempty"`

	// writeBlockSize is how much is written at once, from 1 to 64Mi. Default: 512 bytes.
	// +optional
	WriteBlockSize *resource.Quantity `json:"writeBlockSize,omitempty"`

	// readBias is how many of 10 transactions read rather than append; -1 leaves
	// both out, which readBias and createBias cannot do together. Default: 5.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=10
	ReadBias *int32 `json:"readBias,omitempty"`

	// createBias is how many of 10 transactions create rather than delete; -1
	// leaves both out. Default: 5.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=10
	CreateBias *int32 `json:"createBias,omitempty"`

	// threads, which share files and transactions, each with decisions of its own.
	// Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Threads int32 `json:"threads,omitempty"`

	// durability is None, File, FileAndDirectory or SyncAtEnd. Default: None.
	// +optional
	// +kubebuilder:validation:Enum=None;File;FileAndDirectory;SyncAtEnd
	Durability PostmarkDurability `json:"durability,omitempty"`

	// seed of the random decisions. In mode Modern, each repeat and each thread makes
	// others of it; in mode Compatible, all repeats are the same, and 0 is no seed.
	// Default: 42, as the original.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	Seed *int64 `json:"seed,omitempty"`

	// buffered collects blocks into pieces of 64 KiB before the kernel is given them, as
	// the original does in smaller ones through the C library. Only in mode Compatible;
	// mode Modern gives the kernel blocks as they are. Default: true in mode Compatible.
	// +optional
	Buffered *bool `json:"buffered,omitempty"`
}
