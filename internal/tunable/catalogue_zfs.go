package tunable

import "strings"

const (
	parameters = "/sys/module/zfs/parameters"
	arcstats   = "/proc/spl/kstat/zfs/arcstats"

	noFlush = "ZFS stops asking the disks to write their caches: when power fails, what it believed to be on disk is not, and a pool can be damaged beyond import"
	noZIL   = "the log of synchronous writes is no longer flushed to the disks: when power fails, acknowledged writes are lost and the log can be damaged"
	arcSize = "the ARC competes with everything else on the node for memory"
)

// moduleTunables are parameters of the zfs module: of the node, live, and gone at
// the next boot.
func moduleTunables() []Tunable {
	module := func(name string, v values, about string, risks ...risk) Tunable {
		return Tunable{
			Name: "zfs.module." + name, Scope: Node, About: about, Where: parameters + "/" + name,
			Survives: Never, values: v, risks: risks, backend: file{path: fixed(parameters + "/" + name)},
		}
	}
	out := []Tunable{
		module("zfs_nocacheflush", flag(), "With 1, no cache flush is sent to any disk of any pool.", risk{[]string{"1"}, DataLoss, noFlush}),
		module("zil_nocacheflush", flag(), "With 1, no cache flush is sent after writes of the intent log.", risk{[]string{"1"}, DataLoss, noZIL}),
		module("zfs_prefetch_disable", flag(), "With 1, files are not read ahead."),
		arc("zfs_arc_min", "c_min", "The size that the ARC does not shrink below."),
		arc("zfs_arc_max", "c_max", "The size that the ARC does not grow above. ZFS ignores one that is below zfs_arc_min or above the memory of the node."),
		module("zfs_dirty_data_max", size(64<<20, 1<<40), "How much may be dirty in a pool before writes are delayed and then stopped.",
			risk{nil, Memory, "dirty data stays in memory until it is written"}),
		module("zfs_txg_timeout", number(1, 300), "Seconds after which a transaction group is written at the latest."),
		module("zfs_vdev_max_active", number(1, 100000), "How many I/Os may be outstanding on a disk, of all kinds together."),
	}
	for _, class := range []string{"sync_read", "sync_write", "async_read", "async_write"} {
		kind := strings.ReplaceAll(class, "_", "hronous ")
		out = append(out,
			module("zfs_vdev_"+class+"_min_active", number(1, 1000), "How many "+kind+"s a disk is given at least while others wait."),
			module("zfs_vdev_"+class+"_max_active", number(1, 1000), "How many "+kind+"s may be outstanding on a disk."))
	}
	return out
}

func arc(name, stat, about string) Tunable {
	return Tunable{
		Name: "zfs.module." + name, Scope: Node, About: about + " It is read back as " + stat + " of " + arcstats + ".",
		Where: parameters + "/" + name, Survives: Never,
		Restoring: "The size that the ARC had is written, and then 0 if the parameter was 0: ZFS does not size the ARC anew for a 0, and so it keeps the size that it had. " +
			"What it has cached meanwhile is not brought back.",
		values: size(64<<20, 1<<44), risks: []risk{{nil, Memory, arcSize}},
		backend: arcLimit{parameter: parameters + "/" + name, stat: stat},
	}
}

// datasetTunables are properties of the target's dataset: on disk, and inherited by
// the datasets below.
func datasetTunables() []Tunable {
	property := func(name string, v values, about string, risks ...risk) Tunable {
		return Tunable{
			Name: "zfs.dataset." + name, Scope: Dataset, About: about, Where: "zfs get " + name + " DATASET", Survives: Always,
			Restoring: "A value that was inherited, or the default, is inherited again (zfs inherit) and not set.",
			values:    v, risks: risks, backend: property{name: name},
		}
	}
	newData := " It is for what is written from then on."
	compression := []string{"off", "on", "lz4", "lzjb", "zle", "gzip", "zstd", "zstd-fast"}
	for level := range strings.FieldsSeq("1 2 3 4 5 6 7 8 9") {
		compression = append(compression, "gzip-"+level)
	}
	for level := range strings.FieldsSeq("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19") {
		compression = append(compression, "zstd-"+level)
	}
	return []Tunable{
		property("sync", oneOf("standard", "always", "disabled"), "Whether synchronous writes wait until they are on disk (standard), all writes do (always), or none (disabled).",
			risk{[]string{"disabled"}, DataLoss, "fsync and O_SYNC return at once: what was acknowledged in the last seconds is lost when the node stops"}),
		property("logbias", oneOf("latency", "throughput"), "Whether synchronous writes are optimised for latency, with the log device, or for the throughput of the pool."),
		property("primarycache", oneOf("all", "metadata", "none"), "What the ARC caches of the dataset."),
		property("secondarycache", oneOf("all", "metadata", "none"), "What cache devices cache of the dataset."),
		property("prefetch", oneOf("all", "metadata", "none"), "What is read ahead. ZFS 2.2.3."),
		property("recordsize", power(512, 16<<20), "Size of a file's blocks."+newData),
		property("compression", oneOf(compression...), "How blocks are compressed."+newData),
		property("atime", oneOf("on", "off"), "Whether reading a file writes its access time."),
		property("direct", oneOf("standard", "always", "disabled"), "Whether I/O bypasses the ARC: if it is asked for (standard), always, or never (disabled). ZFS 2.3."),
	}
}
