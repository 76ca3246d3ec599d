package result

import "storagebench.io/storagebench/internal/trial"

// Environment is where a worker measured.
type Environment struct {
	Hostname string `json:"hostname"`
	Kernel   string `json:"kernel"`
	// BootID is the kernel's name for the time since the machine was started; empty if it has none.
	BootID       string            `json:"bootID,omitempty"`
	Architecture string            `json:"architecture"`
	CPU          CPU               `json:"cpu"`
	Memory       Memory            `json:"memory"`
	Target       TargetEnvironment `json:"target"`
	// Tools are versions by program name.
	Tools map[string]string `json:"tools"`
	// Observers are what observed more than the kernel's counters, and why one did not.
	Observers []Observer `json:"observers,omitempty"`
	// Idle is what the disks and the machine did for a second before the worker's first
	// trial, when nothing of it ran.
	Idle Metrics `json:"idle,omitempty"`
}

// CPU of the node.
type CPU struct {
	Model string `json:"model"`
	Count int    `json:"count"`
	// LimitCores is the cgroup's limit; 0: no limit.
	LimitCores float64 `json:"limitCores,omitempty"`
}

// Memory of the node.
type Memory struct {
	TotalBytes uint64 `json:"totalBytes"`
	// LimitBytes is the cgroup's limit; 0: no limit.
	LimitBytes uint64 `json:"limitBytes,omitempty"`
	// ARCBytes is the most that the cache of ZFS may hold (c_max); 0: there is no ZFS.
	ARCBytes uint64 `json:"arcBytes,omitempty"`
}

// TargetEnvironment is the file system and the devices of a target.
type TargetEnvironment struct {
	Path           string     `json:"path"`
	Mode           trial.Mode `json:"mode"`
	FilesystemType string     `json:"filesystemType,omitempty"`
	MountOptions   string     `json:"mountOptions,omitempty"`
	MountSource    string     `json:"mountSource,omitempty"`
	SizeBytes      uint64     `json:"sizeBytes"`
	FreeBytes      uint64     `json:"freeBytes"`
	// Class is what its StorageClass made the volume with, as the plan has it.
	Class *trial.ClassIdentity `json:"class,omitempty"`
	// Devices are the leaf disks below it; empty if none are visible from the
	// worker.
	Devices []Device `json:"devices"`
	// DeviceNote says why there are none, or what else to know about them.
	DeviceNote string `json:"deviceNote,omitempty"`
	// Layers of the storage, from the target's own down to the disks; the target's own is
	// the first.
	Layers []Layer `json:"layers,omitempty"`
}

// Device is a leaf disk and its queue's settings.
type Device struct {
	Name      string `json:"name"`
	Model     string `json:"model,omitempty"`
	SizeBytes uint64 `json:"sizeBytes"`
	// Backing is the file of a loop device.
	Backing string `json:"backing,omitempty"`
	// Queue holds /sys/block/<name>/queue: scheduler, nr_requests, write_cache, …
	Queue map[string]string `json:"queue"`
}
