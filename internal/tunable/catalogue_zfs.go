package tunable

import "strings"

const (
	parameters = "/sys/module/zfs/parameters"
	arcstats   = "/proc/spl/kstat/zfs/arcstats"

	noFlush = "ZFS stops asking the disks to flush their caches: a power failure loses data that ZFS believes is on disk, and can make the pool impossible to import"
	noZIL   = "ZFS no longer flushes the log of synchronous writes to the disks: a power failure loses acknowledged writes and can damage the log"
	arcSize = "the ARC competes with everything else on the node for memory"
)

// moduleTunables returns parameters of the zfs module. They belong to the node,
// take effect at once, and are lost at the next boot.
func moduleTunables() []Tunable {
	module := func(name string, v values, about string, risks ...risk) Tunable {
		return Tunable{
			Name: "zfs.module." + name, Scope: Node, About: about, Where: parameters + "/" + name,
			Survives: Never, values: v, risks: risks, backend: file{path: fixed(parameters + "/" + name)},
		}
	}
	out := []Tunable{
		module("zfs_nocacheflush", flag(), "With 1, ZFS sends no cache flush to any disk of any pool.", risk{[]string{"1"}, DataLoss, noFlush}),
		module("zil_nocacheflush", flag(), "With 1, ZFS sends no cache flush after writes of the intent log.", risk{[]string{"1"}, DataLoss, noZIL}),
		module("zfs_prefetch_disable", flag(), "With 1, ZFS does not read files ahead."),
		arc("zfs_arc_min", "c_min", "The minimum size of the ARC."),
		arc("zfs_arc_max", "c_max", "The maximum size of the ARC. ZFS ignores a value below zfs_arc_min or above the node's memory."),
		module("zfs_dirty_data_max", size(64<<20, 1<<40), "How much dirty data a pool may have before ZFS delays writes and then stops them.",
			risk{nil, Memory, "dirty data stays in memory until ZFS writes it"}),
		module("zfs_txg_timeout", number(1, 300), "Seconds after which ZFS writes a transaction group at the latest."),
		module("zfs_vdev_max_active", number(1, 100000), "How many I/Os of all kinds together may be outstanding on a disk."),
	}
	for _, class := range []string{"sync_read", "sync_write", "async_read", "async_write"} {
		kind := strings.ReplaceAll(class, "_", "hronous ")
		out = append(out,
			module("zfs_vdev_"+class+"_min_active", number(1, 1000), "How many "+kind+"s a disk gets at least while others wait."),
			module("zfs_vdev_"+class+"_max_active", number(1, 1000), "How many "+kind+"s may be outstanding on a disk."))
	}
	return out
}

func arc(name, stat, about string) Tunable {
	return Tunable{
		Name: "zfs.module." + name, Scope: Node, About: about + " The value in effect is " + stat + " in " + arcstats + ".",
		Where: parameters + "/" + name, Survives: Never,
		Restoring: "Restoring writes the old limit and then, if the parameter was 0, a 0: ZFS keeps the limit when it reads a 0. " +
			"It does not bring back what the ARC held in its cache.",
		values: size(64<<20, 1<<44), risks: []risk{{nil, Memory, arcSize}},
		backend: arcLimit{parameter: parameters + "/" + name, stat: stat},
	}
}

// datasetTunables returns properties of the target's dataset. They are stored on
// disk, and the datasets below inherit them.
func datasetTunables() []Tunable {
	property := func(name string, v values, about string, risks ...risk) Tunable {
		return Tunable{
			Name: "zfs.dataset." + name, Scope: Dataset, About: about, Where: "zfs get " + name + " DATASET", Survives: Always,
			Restoring: "A value that was inherited, or the default, is inherited again (zfs inherit) instead of set.",
			values:    v, risks: risks, backend: property{name: name},
		}
	}
	newData := " It applies to data written from then on."
	compression := []string{"off", "on", "lz4", "lzjb", "zle", "gzip", "zstd", "zstd-fast"}
	for level := range strings.FieldsSeq("1 2 3 4 5 6 7 8 9") {
		compression = append(compression, "gzip-"+level)
	}
	for level := range strings.FieldsSeq("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19") {
		compression = append(compression, "zstd-"+level)
	}
	return []Tunable{
		property("sync", oneOf("standard", "always", "disabled"), "Which writes wait until they are on disk: synchronous ones (standard), all (always), or none (disabled).",
			risk{[]string{"disabled"}, DataLoss, "fsync and O_SYNC return at once: the writes acknowledged in the last seconds are lost when the node stops"}),
		property("logbias", oneOf("latency", "throughput"), "Whether ZFS optimises synchronous writes for latency, with the log device, or for the throughput of the pool."),
		property("primarycache", oneOf("all", "metadata", "none"), "What of the dataset the ARC caches."),
		property("secondarycache", oneOf("all", "metadata", "none"), "What of the dataset cache devices (L2ARC) cache."),
		property("prefetch", oneOf("all", "metadata", "none"), "What ZFS reads ahead. Needs ZFS 2.2.3."),
		property("recordsize", power(512, 16<<20), "The largest block of a file."+newData),
		property("compression", renamed(oneOf(compression...), map[string]string{"gzip-6": "gzip"}), "How ZFS compresses blocks."+newData),
		property("atime", oneOf("on", "off"), "Whether reading a file updates its access time."),
		property("direct", oneOf("standard", "always", "disabled"), "When I/O bypasses the ARC: on request (standard), always, or never (disabled). Needs ZFS 2.3."),
	}
}
