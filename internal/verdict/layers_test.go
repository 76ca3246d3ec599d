package verdict

import "storagebench.io/storagebench/internal/result"

// layerPairs are lies of layers below the target, and honest twins in which a layer says the same that
// decides nothing there.
var layerPairs = map[string]pair{
	"an upper directory without barriers": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Invalidates,
		lie: both(input("fdatasync=1"), overlay(upper(func(l *result.Layer) { l.Options = "rw,barrier=0" }))),
		twins: map[string]func(*Facts){
			"a lower one":                 both(input("fdatasync=1"), overlay(lower(func(l *result.Layer) { l.Options = "rw,barrier=0" }))),
			"a lower one, afterwards":     both(input("fdatasync=1"), overlay(), after(lower(func(l *result.Layer) { l.Options = "rw,barrier=0" }))),
			"a lower one that compresses": overlay(lower(func(l *result.Layer) { l.Type, l.Options = "btrfs", "rw,compress=zstd" })),
			"a cache of a disk below it":  both(input("fdatasync=1"), overlay(lowest(func(l *result.Layer) { l.WriteCache, l.DeviceCache = "write through", "write back" }))),
			"a lower one in a loop device": overlay(lowest(func(l *result.Layer) { l.Kind, l.Type, l.DirectIO = result.LoopLayer, "loop", new(false) }), func(f *Facts) {
				f.set("below.read.bytes", 0.0, "below.write.bytes", 0.0)
			}),
		},
	},
	"reads from memory, over a lower directory that is compressed": {
		verdict: FromMemory, operation: "read", effect: result.Invalidates,
		lie: both(overlay(lower(func(l *result.Layer) { l.Type, l.Options = "btrfs", "rw,compress=zstd" })), scaling("device.read.bytes", 0.1)),
	},
	"a neighbour, over a lower directory that is compressed": {
		verdict: NoisyNeighbour, effect: result.Invalidates,
		lie: both(overlay(lower(func(l *result.Layer) { l.Type, l.Options = "btrfs", "rw,compress=zstd" })), neighbour(0.5)),
	},
	"flushes that never reach the disk, over a lower directory on another": {
		verdict: MayIgnoreFlushes, operation: "fdatasync", effect: result.Invalidates, lie: both(climbed(20, 100, 0), overlay()),
		twins: map[string]func(*Facts){
			"on a disk with a cache": both(climbed(20, 400, 0), overlay(lowest(func(l *result.Layer) { l.WriteCache = "write back" }))),
		},
	},
	"a log without flushes": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Qualifies,
		lie: both(second(false, "xfs", 1, "logdev=/dev/other"), cache("write through", "write back")),
	},
}

// zfsPairs are of datasets, whose disks nobody counts.
var zfsPairs = map[string]pair{
	"writes to a dataset that nothing syncs": {
		verdict: NoDeviceEvidence, operation: "write", effect: result.Qualifies, lie: both(dataset, writesOnly, setting("zfs.arc.hits", 0.0, "zfs.arc.misses", 0.0)),
		twins: map[string]func(*Facts){
			"synced":                 both(dataset, writesOnly, input("end_fsync=1")),
			"sync=always":            both(dataset, writesOnly, setting("write.ios", 500.0, "zfs.zil.commits", 500.0)),
			"by bonnie++":            both(dataset, writesOnly, command("/usr/sbin/bonnie++", "-d", "/x")),
			"by iozone, with -e":     both(dataset, writesOnly, command("iozone", "-i", "0", "-e")),
			"of which a drain tells": both(dataset, writesOnly, setting("drain.duration", 0.001, "phase.transactions.duration", 4.0)),
		},
	},
	"writes to a dataset, beside reads that the ARC tells of": {
		verdict: NoDeviceEvidence, operation: "write", effect: result.Qualifies, lie: both(dataset, setting("zfs.arc.hits", 0.0, "zfs.arc.misses", 1000.0)),
		twins: map[string]func(*Facts){"synced": both(dataset, input("fsync=1"), setting("zfs.arc.hits", 0.0, "zfs.arc.misses", 1000.0))},
	},
	"mapped reads of a dataset, which the ARC does not see": {
		verdict: NoDeviceEvidence, operation: "read", effect: result.Qualifies, lie: both(dataset, input("ioengine=mmap\nend_fsync=1"), setting("zfs.arc.hits", 0.0, "zfs.arc.misses", 0.0)),
	},
}

// limitPairs are limits of a device above the disks, which all of them share.
var limitPairs = map[string]pair{
	"a limit of a volume": {
		verdict: Throttled, operation: "read", effect: result.Qualifies, lie: both(mapped("lvm", "sda", "sdb"), ofVolume("read", 1)),
		twins: map[string]func(*Facts){"far away": both(mapped("lvm", "sda", "sdb"), ofVolume("read", 2))},
	},
	"a limit of a mirror": {
		verdict: Throttled, operation: "write", effect: result.Qualifies, lie: both(mapped("raid1", "sda", "sdb"), mirrored, ofVolume("write", 1)),
		twins: map[string]func(*Facts){"which its disks reach together": both(mapped("raid1", "sda", "sdb"), mirrored, ofVolume("write", 2))},
	},
	"a limit of an array with parity": {
		verdict: Throttled, operation: "write", effect: result.Qualifies, lie: both(mapped("raid5", "sda", "sdb", "sdc"), parity, ofVolume("write", 1)),
		twins: map[string]func(*Facts){"which its disks reach together": both(mapped("raid5", "sda", "sdb", "sdc"), parity, ofVolume("write", 2))},
	},
}

// ofVolume is a limit of the bytes that a device above all disks moves: so many times what the workload does.
func ofVolume(direction string, factor float64) func(*Facts) {
	return func(f *Facts) {
		f.set("limit.target."+direction+".bytes", factor*f.value(direction+".bandwidth"))
	}
}

// cachePairs are mapped devices at which flushes end, or do not.
var cachePairs = map[string]pair{
	"syncs that only begin to write": {
		verdict: UnsafeConfiguration, operation: "sync", effect: result.Invalidates, lie: both(syncing, input("sync_file_range=write:8")),
		twins: map[string]func(*Facts){
			"real ones": both(syncing, input("fdatasync=8")), "real ones beside them": both(syncing, input("sync_file_range=write:8\nfsync=100")),
			"none are timed": input("sync_file_range=write:8"), "switched off": both(syncing, input("sync_file_range=0")),
		},
	},
	"a volume that drops flushes": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Invalidates,
		lie: both(input("fdatasync=1"), mapped("lvm", "sda"), caches("write through", "write back", "")),
		twins: map[string]func(*Facts){
			"it sends them":                    both(input("fdatasync=1"), mapped("lvm", "sda"), caches("write back", "write back", "write back")),
			"no disk below has a cache":        both(input("fdatasync=1"), mapped("lvm", "sda"), caches("write through", "write through", "")),
			"the disk says that it has none":   both(input("fdatasync=1"), mapped("raid1", "sda", "sdb"), mirrored, caches("write through", "write back", "write through")),
			"an array over a disk without one": both(input("fdatasync=1"), mapped("raid0", "sda"), caches("write back", "write through", "write through")),
			"a device that flushes by itself":  both(input("fdatasync=1"), mapped("bcache", "sda"), caches("write through", "write back", "")),
		},
	},
	"an array that drops flushes, below a volume": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Qualifies,
		lie: both(mapped("raid1", "sda", "sdb"), mirrored, above("lvm"), caches("write through", "write back", "write back"), func(f *Facts) {
			f.Target.Layers[len(f.Target.Layers)-1].WriteCache = "write back"
		}),
	},
	"a volume that drops the flushes that an array would send": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Qualifies,
		lie: both(mapped("raid0", "sda", "sdb"), above("crypt"), caches("write back", "write back", ""), func(f *Facts) {
			f.Target.Layers[len(f.Target.Layers)-1].WriteCache = "write through"
		}),
	},
	"a volume that begins to drop flushes": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Qualifies,
		lie: both(mapped("lvm", "sda"), caches("write back", "write back", ""), after(layer(func(int) int { return 1 }, func(l *result.Layer) { l.WriteCache = "write through" }))),
	},
}

// caches says what the kernel believes of the cache of the mapped device, and of its disks', and what these say.
func caches(top, disk, said string) func(*Facts) {
	return func(f *Facts) {
		for i := range f.Target.Layers {
			switch l := &f.Target.Layers[i]; l.Kind {
			case result.MappedLayer:
				l.WriteCache = top
			case result.DiskLayer:
				l.WriteCache, l.DeviceCache = disk, said
			}
		}
	}
}

// pathPairs are neighbours beside a path to the disks on which the workload itself costs more than it asks for.
var pathPairs = map[string]pair{
	"what the path to the disks does for itself": {
		twins: map[string]func(*Facts){
			"parity of md":                    both(mapped("raid5", "sda", "sdb", "sdc"), parity),
			"parity of LVM":                   both(mapped("lvm", "lv_rimage_0", "lv_rimage_1", "lv_rimage_2"), below("lvm"), parity),
			"parity, below a mirror":          both(mapped("raid5", "sda", "sdb", "sdc"), above("crypt"), parity),
			"a cache":                         both(mapped("bcache", "sda", "sdb"), parity),
			"a checksum of each block":        both(mapped("crypt", "dm-1"), below("crypt"), parity),
			"what device mapper does besides": both(mapped("dm", "sda"), parity),
		},
	},
	"somebody else who only syncs": {
		verdict: NoisyNeighbour, effect: result.Qualifies, lie: flushing(100, 1e-3, ""),
		twins: map[string]func(*Facts){
			"a journal": flushing(1, 50e-3, ""), "that takes no time": flushing(100, 1e-4, ""), "the workload's own": flushing(100, 1e-3, "\nfdatasync=1"),
			"through the page cache": both(flushing(100, 1e-3, ""), buffered),
		},
	},
	"somebody else on a volume": {verdict: NoisyNeighbour, effect: result.Invalidates, lie: both(mapped("lvm", "sda"), neighbour(0.5))},
	"somebody else on a stripe": {verdict: NoisyNeighbour, effect: result.Invalidates, lie: both(mapped("raid0", "sda", "sdb"), above("crypt"), neighbour(0.5))},
	"somebody else on a mirror of LVM": {
		verdict: NoisyNeighbour, effect: result.Invalidates, lie: both(mapped("lvm", "lv_rimage_0", "lv_rimage_1"), below("lvm"), mirrored, neighbour(0.9)),
		twins: map[string]func(*Facts){"nobody": both(mapped("lvm", "lv_rimage_0", "lv_rimage_1"), below("lvm"), mirrored)},
	},
	"somebody else on an array that counts in place of its disks": {
		verdict: NoisyNeighbour, effect: result.Invalidates, lie: both(mapped("raid5", "sda", "sdb", "sdc"), func(f *Facts) {
			f.Target.Layers[1].IOStats, f.Target.Layers[2].IOStats = true, false
		}, neighbour(0.5)),
	},
}

// mapped puts the file system on a mapped device of a type, on so many disks.
func mapped(kind string, disks ...string) func(*Facts) {
	return func(f *Facts) {
		f.set("device.write.bytes", f.value("write.bytes"), "device.drain.bytes", 0.0)
		top := f.Target.Layers[0]
		top.Below = []string{"mapped0"}
		f.Target.Layers = []result.Layer{top, {ID: "mapped0", Number: "253:0", Kind: result.MappedLayer, Type: kind, Below: disks}}
		f.Target.Devices = nil
		for _, disk := range disks {
			f.Target.Layers = append(f.Target.Layers, result.Layer{ID: disk, Number: "8:0", Kind: result.DiskLayer, Type: "scsi", IOStats: true})
			f.Target.Devices = append(f.Target.Devices, result.Device{Name: disk})
		}
	}
}

// below makes what is directly below the mapped device parts of a type, each on a disk of its own.
func below(kind string) func(*Facts) {
	return func(f *Facts) {
		f.Target.Devices = nil
		for i := range f.Target.Layers[2:] {
			l := &f.Target.Layers[2+i]
			disk := "disk-" + l.ID
			l.Kind, l.Type, l.Below = result.MappedLayer, kind, []string{disk}
			f.Target.Layers = append(f.Target.Layers, result.Layer{ID: disk, Number: "8:0", Kind: result.DiskLayer, Type: "scsi", IOStats: true})
			f.Target.Devices = append(f.Target.Devices, result.Device{Name: disk})
		}
	}
}

// above puts one more mapped device between the file system and the other one.
func above(kind string) func(*Facts) {
	return func(f *Facts) {
		f.Target.Layers[0].Below = []string{"mapped1"}
		f.Target.Layers = append(f.Target.Layers, result.Layer{ID: "mapped1", Number: "253:1", Kind: result.MappedLayer, Type: kind, Below: []string{"mapped0"}})
	}
}

// parity reads the old block and its parity for each write, and writes both.
func parity(f *Facts) {
	own := f.value("write.bytes")
	f.set("device.read.bytes", f.value("device.read.bytes")+2*own, "device.write.bytes", 2*own)
}

func mirrored(f *Facts) {
	f.Target.Layers[1].Copies = 2
	f.scale("device.write.bytes", 2.0)
}

// dataset makes the target one of ZFS, on disks that sysfs does not show, through its cache.
func dataset(f *Facts) {
	blind(f)
	f.Measurement.DirectIO = &result.DirectIO{Effective: result.DirectUnknown, Evidence: "ZFS has a cache of its own"}
	f.Target.FilesystemType, f.Target.Devices, f.Target.DeviceNote = "zfs", nil, "sysfs does not show the disks of the ZFS pool tank"
	f.Target.Layers = []result.Layer{{ID: "fs:/tank", Kind: result.FilesystemLayer, Type: "zfs", Below: []string{"pool:tank"}}, {ID: "pool:tank", Kind: result.PoolLayer, Type: "zfs"}}
	f.set("zfs.arc.hits", 0.0, "zfs.arc.misses", 0.0, "zfs.zil.commits", 0.0)
}

func command(argv ...string) func(*Facts) {
	return func(f *Facts) { f.Measurement.Command = argv }
}

// overlay puts an overlay above the target, whose lower directory is on another file system and disk.
func overlay(changes ...func(*Facts)) func(*Facts) {
	return func(f *Facts) {
		top := result.Layer{ID: "fs:/merged", Kind: result.FilesystemLayer, Type: "overlay", Options: "rw,lowerdir=/l,upperdir=/u", Below: []string{f.Target.Layers[0].ID, "fs:/lower"}}
		f.Target.Layers = append([]result.Layer{top}, f.Target.Layers...)
		f.Target.Layers = append(f.Target.Layers,
			result.Layer{ID: "fs:/lower", Kind: result.FilesystemLayer, Type: "ext4", Below: []string{"sdz"}},
			result.Layer{ID: "sdz", Kind: result.DiskLayer, Type: "scsi", IOStats: true})
		both(changes...)(f)
	}
}

// upper, lower and lowest change the overlay's upper directory, its lower one, and the disk of that.
func upper(change func(*result.Layer)) func(*Facts) { return layer(func(int) int { return 1 }, change) }

func lower(change func(*result.Layer)) func(*Facts) {
	return layer(func(n int) int { return n - 2 }, change)
}

func lowest(change func(*result.Layer)) func(*Facts) {
	return layer(func(n int) int { return n - 1 }, change)
}

// layer changes one of the layers, of which it is told how many there are.
func layer(at func(n int) int, change func(*result.Layer)) func(*Facts) {
	return func(f *Facts) { change(&f.Target.Layers[at(len(f.Target.Layers))]) }
}

// after makes a change of layers while the trial runs.
func after(change func(*Facts)) func(*Facts) {
	return func(f *Facts) {
		later := Facts{Target: result.TargetEnvironment{Layers: append([]result.Layer{}, f.Target.Layers...)}}
		change(&later)
		f.After = later.Target.Layers
	}
}

// flushing makes the disks flush their caches so often a second, each time for so many seconds, beside a job with more options.
func flushing(perSecond, seconds float64, options string) func(*Facts) {
	return both(past, input("rw=randrw"+options), func(f *Facts) {
		f.set("device.flush.count", perSecond*f.value("device.seconds"), "device.flush.await", seconds)
	})
}
