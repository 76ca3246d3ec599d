package verdict

import "storagebench.io/storagebench/internal/result"

// memoryPairs are lies of what is in memory, or in a cache that is no larger than what is read.
var memoryPairs = map[string]pair{
	"holes of a loop device that somebody else reads": {
		verdict: NoisyNeighbour, effect: result.Invalidates, lie: func(f *Facts) {
			loopOnly(true)(f)
			own, writes := f.value("read.bytes"), f.value("write.bytes")
			f.set("device.read.bytes", 9*own+8*writes, "below.read.bytes", own, "below.write.bytes", writes, "device.foreign.share", 8.0/9)
		},
	},
	"a disk in memory": {
		verdict: MemoryBacked, effect: result.Invalidates,
		lie: both(func(f *Facts) { f.Target.Layers[0].InMemory = true }, scaling("device.read.bytes", 0.0, "device.write.bytes", 0.0)),
	},
	"a file that the disk's own cache holds": {
		verdict: WorkingSetTooSmall, operation: "read", effect: result.Qualifies, lie: both(past, setting("files.bytes", float64(4<<20))),
		twins: map[string]func(*Facts){"one that it does not": both(past, setting("files.bytes", float64(64<<20)))},
	},
	"a file that is overwritten in the disk's own cache": {
		verdict: WorkingSetTooSmall, operation: "write", effect: result.Qualifies, lie: both(past, writesOnly, setting("files.bytes", float64(4<<20))),
		twins: map[string]func(*Facts){
			"one that it cannot hold": both(past, writesOnly, setting("files.bytes", float64(64<<20))),
			"with syncs":              both(past, writesOnly, setting("files.bytes", float64(4<<20)), func(f *Facts) { f.Measurement.Input += "\nfdatasync=1\n" }),
		},
	},
	"clones that read the same file together": {
		verdict: WorkingSetTooSmall, operation: "read", effect: result.Qualifies, lie: both(past, setting("read"+result.InStep, 0.75)),
		twins: map[string]func(*Facts){"through the page cache": both(buffered, setting("read"+result.InStep, 0.75)), "of writes that sync": both(past, setting("write"+result.InStep, 0.75), input("fsync=1"))},
	},
	"a few blocks of a large file": {
		verdict: WorkingSetTooSmall, operation: "read", effect: result.Qualifies,
		lie:   both(past, setting("files.bytes", float64(64<<20), "read"+result.Hot, float64(1<<20))),
		twins: map[string]func(*Facts){"more than a disk's cache": both(past, setting("files.bytes", float64(64<<20), "read"+result.Hot, float64(32<<20)))},
	},
	"a small part of a device": {
		verdict: WorkingSetTooSmall, operation: "write", effect: result.Qualifies,
		lie: both(past, writesOnly, setting("write"+result.Hot, float64(1<<20))),
		twins: map[string]func(*Facts){
			"more than a disk's cache": both(past, writesOnly, setting("write"+result.Hot, float64(32<<20))),
			"with syncs":               both(past, writesOnly, setting("write"+result.Hot, float64(1<<20)), func(f *Facts) { f.Measurement.Input += "\nfdatasync=1\n" }),
		},
	},
	"a stripe in memory": {
		verdict: MemoryBacked, effect: result.Invalidates, lie: second(true, "raid0", 1, ""),
		twins: map[string]func(*Facts){"on a second disk": second(false, "raid0", 1, "")},
	},
	"a mirror in memory": {
		verdict: MemoryBacked, operation: "read", effect: result.Invalidates, lie: second(true, "raid1", 2, ""),
		twins: map[string]func(*Facts){"on a second disk": second(false, "raid1", 2, "")},
	},
	"a log in memory": {
		verdict: MemoryBacked, operation: "write", effect: result.Invalidates, lie: second(true, "xfs", 1, "logdev=/dev/other"),
		twins: map[string]func(*Facts){"on a second disk": second(false, "xfs", 1, "logdev=/dev/other")},
	},
	"half a page cache below a loop device": {
		verdict: CachedBelow, operation: "read", effect: result.Invalidates, lie: loop(0.45, 1),
		twins: map[string]func(*Facts){"none": loop(1, 1), "metadata": loop(0.95, 0.95), "the disk does more": loop(3, 3)},
	},
	"a loop device that is not counted": {
		verdict: CachedBelow, operation: "read", effect: result.Qualifies, also: []string{NoDeviceEvidence},
		lie: both(loopOnly(false), setting("below.read.bytes", 0.0, "below.write.bytes", 0.0), blind),
	},
	"some page cache below a loop device": {verdict: CachedBelow, operation: "write", effect: result.Qualifies, lie: loop(1, 0.8)},
	"a loop device whose file is out of sight": {
		verdict: CachedBelow, operation: "write", effect: result.Qualifies, lie: loopOnly(false),
		twins: map[string]func(*Facts){"past the page cache": loopOnly(true)},
	},
	"a loop device on a disk that is out of sight": {
		verdict: CachedBelow, operation: "read", effect: result.Invalidates,
		lie: both(loopOnly(false), setting("others.read.bytes", 0.0, "others.write.bytes", 1e15)),
		twins: map[string]func(*Facts){
			"other disks did it": both(loopOnly(false), setting("others.read.bytes", 1e15, "others.write.bytes", 1e15)),
		},
	},
}

// second gives the target a second device of its own, in memory or a disk.
func second(inMemory bool, kind string, copies int, options string) func(*Facts) {
	return func(f *Facts) {
		other := result.Layer{ID: "other", Kind: result.DiskLayer, Type: "scsi", IOStats: true}
		if inMemory {
			other = result.Layer{ID: "other", Kind: result.MemoryLayer, Type: "zram", InMemory: true, IOStats: true}
		}
		scale := float64(copies) / float64(f.Target.Copies())
		scaling("device.write.bytes", scale, "device.drain.bytes", scale)(f)
		top, disk := f.Target.Layers[0], f.Target.Layers[len(f.Target.Layers)-1]
		top.Type, top.Options, top.Copies, top.Below = kind, options, copies, []string{disk.ID, other.ID}
		f.Target.Layers = []result.Layer{top, disk, other}
	}
}

// writesOnly leaves no reads.
func writesOnly(f *Facts) {
	f.Measurement.Operations = []string{"write"}
	f.set("read.bytes", 0.0, "device.read.bytes", 0.0, "device.read.count", 0.0)
}
