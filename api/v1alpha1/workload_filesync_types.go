package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// FilesyncSync says how a file is made durable.
type FilesyncSync string

const (
	// FilesyncDsync opens the file with O_DSYNC.
	FilesyncDsync FilesyncSync = "Dsync"
	// FilesyncSyncFlag opens the file with O_SYNC.
	FilesyncSyncFlag FilesyncSync = "Sync"
	// FilesyncFsync calls fsync after the write.
	FilesyncFsync FilesyncSync = "Fsync"
	// FilesyncFdatasync calls fdatasync after the write.
	FilesyncFdatasync FilesyncSync = "Fdatasync"
	// FilesyncNone does nothing: what is left is the cost of the file system in memory.
	FilesyncNone FilesyncSync = "None"
)

// FilesyncWorkload creates a file, writes it, closes it and removes it, again and
// again, as what it costs to make a small file durable.
type FilesyncWorkload struct {
	// files to create, over all threads. Default: 10000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	Files int64 `json:"files,omitempty"`

	// size of each file, from 1 to 64Mi. Default: 255 bytes.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// sync is Dsync, Sync, Fsync, Fdatasync or None. Default: Dsync.
	// +optional
	// +kubebuilder:validation:Enum=Dsync;Sync;Fsync;Fdatasync;None
	Sync FilesyncSync `json:"sync,omitempty"`

	// threads, each with a file of its own: at most as many as files, and as have
	// 256Mi of data together. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Threads int32 `json:"threads,omitempty"`

	// offeredRate in files per second makes the loop an open one: files are begun at times that are
	// fixed before the trial, by at most threads at once, and the latency of each counts from its
	// time, whether or not a thread was free. A trial then takes files / offeredRate seconds; what
	// has not begun by then is left out and counted as filesync.backlog. Default: none, a thread
	// begins a file when it has finished the last one.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	OfferedRate int64 `json:"offeredRate,omitempty"`

	// arrivals is Poisson, as requests of many users come, or Even, with the same time between
	// them. It needs offeredRate. Default: Poisson.
	// +optional
	// +kubebuilder:validation:Enum=Poisson;Even
	Arrivals Arrivals `json:"arrivals,omitempty"`
}
