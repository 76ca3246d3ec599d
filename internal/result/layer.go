package result

// LayerKind is what a layer of storage is.
type LayerKind string

// Kinds of layers.
const (
	// FilesystemLayer keeps files: ext4, xfs, btrfs, zfs, tmpfs, overlay, nfs, fuse, …
	FilesystemLayer LayerKind = "Filesystem"
	// MappedLayer maps blocks to other block devices: device mapper, md, NVMe multipath.
	MappedLayer LayerKind = "Mapped"
	// LoopLayer is a loop device; what is below it is the file system that holds its file.
	LoopLayer LayerKind = "Loop"
	// PoolLayer is a pool of a file system's own, such as ZFS's; below it are its disks.
	PoolLayer LayerKind = "Pool"
	// DiskLayer is a disk, or what a virtual machine shows as one.
	DiskLayer LayerKind = "Disk"
	// MemoryLayer is memory that looks like a disk: zram, brd, null_blk.
	MemoryLayer LayerKind = "Memory"
	// RemoteLayer is on another machine: nfs, cifs, ceph, rbd, nbd, iscsi, nvme-of.
	RemoteLayer LayerKind = "Remote"
	// UnknownLayer cannot be seen from where the worker runs.
	UnknownLayer LayerKind = "Unknown"
)

// Layer is one layer of the storage below a target. The first layer of a stack is the
// target's own; Below leads from each layer to those that it stands on.
type Layer struct {
	// ID is unique in the stack: the name of a block device, or what else it is: "fs:" and the
	// mount point, "pool:" and its name, "file:" and the path of what cannot be followed.
	ID   string    `json:"id"`
	Kind LayerKind `json:"kind"`
	// Type is the kind's own word: ext4, raid1, partition, zram, nvme, virtio, nfs4, …
	Type string `json:"type"`
	// Number is the block device as MAJOR:MINOR; empty if it is none.
	Number string `json:"number,omitempty"`
	// Options of a file system: those of the mount and of the superblock, also those that
	// the mount table leaves out because they are the superblock's default, and compress=attribute where
	// an attribute of the directory or file has it compressed.
	Options string `json:"options,omitempty"`
	// Source of a file system, the file of a loop device, or the name of a mapped device.
	Source string `json:"source,omitempty"`
	// DiskSeq is the number that the kernel gives to each disk and medium that it sees, counted since
	// the boot (Linux 5.15): a disk that took another one's name has another one. 0: not known.
	DiskSeq uint64 `json:"diskSeq,omitempty"`
	// Model of a disk.
	Model string `json:"model,omitempty"`
	// SizeBytes of a block device; 0: not known.
	SizeBytes uint64 `json:"sizeBytes,omitempty"`
	// InMemory reports that the layer's data is in this machine's memory: tmpfs, zram,
	// brd, a loop device whose file is in memory.
	InMemory bool `json:"inMemory,omitempty"`
	// DirectIO of a loop device: whether it reads and writes its file past the page cache.
	DirectIO *bool `json:"directIO,omitempty"`
	// Copies is how many copies of each block the layer writes below; 0: one.
	Copies int `json:"copies,omitempty"`
	// WriteCache is what the kernel believes of a disk: "write back" or "write through".
	WriteCache string `json:"writeCache,omitempty"`
	// DeviceCache is what the disk itself says of its cache, if it says so: "write back" or
	// "write through". If it differs from WriteCache, the kernel's view was overridden.
	DeviceCache string `json:"deviceCache,omitempty"`
	// FUA reports whether the device writes a block past its cache when it is asked to.
	FUA *bool `json:"fua,omitempty"`
	// DiscardMaxBytes is how much one discard frees at most; 0: the device discards nothing.
	DiscardMaxBytes *uint64 `json:"discardMaxBytes,omitempty"`
	// Rotational reports whether the kernel takes the device for a spinning disk.
	Rotational *bool `json:"rotational,omitempty"`
	// TurnsPerMinute is how fast a spinning disk says it turns; 0: it does not turn, or does not say so.
	TurnsPerMinute int `json:"turnsPerMinute,omitempty"`
	// IOStats reports whether the kernel counts the device's I/O.
	IOStats bool `json:"ioStats,omitempty"`
	// LinkBytesPerSecond is what the device's link carries at most; 0: not known.
	LinkBytesPerSecond float64 `json:"linkBytesPerSecond,omitempty"`
	// Below are the IDs of the layers below this one. An overlay's upper directory is the
	// first of its own.
	Below []string `json:"below,omitempty"`
	// Note says what else to know, such as what cannot be seen from here.
	Note string `json:"note,omitempty"`
}
