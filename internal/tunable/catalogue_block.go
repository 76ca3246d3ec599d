package tunable

const (
	keptDirty  = "the kernel no longer sends flushes to the disk: what is in the disk's own cache is lost when power fails, although fsync has returned"
	queueWhere = "/sys/block/X/queue/"
)

// driveTunables are the caches in the disks themselves, from which the kernel derives
// the block queue's.
func driveTunables() []Tunable {
	const restoring = "Drives may keep it when they are switched off, so that it is refused on a disk without a serial number or WWID, which would not be known again; " +
		"and while the disk is away, it stays in the journal."
	return []Tunable{
		{
			Name: "scsi.disk.cache_type", Scope: Device, Survives: Maybe, Where: "/sys/block/X/device/scsi_disk/*/cache_type",
			About:     "The write cache of a SCSI, SAS or SATA disk. Plain values change the disk (MODE SELECT); with \"temporary\" only the kernel's view of it changes, and with that whether it sends flushes.",
			Restoring: "What was set with \"temporary\" is put back with \"temporary\". " + restoring,
			values:    oneOf("write back", "write through", "none", "temporary write back", "temporary write through", "temporary none"),
			risks:     []risk{{[]string{"temporary write through", "temporary none"}, DataLoss, keptDirty}},
			backend:   scsiCache{},
		},
		{
			Name: "ata.write_cache", Scope: Device, Survives: Maybe, Where: "hdparm -W /dev/X",
			About: "The write cache of an ATA disk. Off is safe, and slow.", Restoring: restoring,
			values: oneOf("on", "off"), backend: ataCache{},
		},
		{
			Name: "nvme.volatile_write_cache", Scope: Device, Survives: Maybe, Where: "nvme get-feature --feature-id=6 /dev/X",
			About: "The volatile write cache of an NVMe controller, for all its namespaces. Off is safe, and slow.", Restoring: restoring,
			values: oneOf("on", "off"), backend: nvmeCache{},
		},
	}
}

// blockTunables are attributes of the queue in front of a disk. Several of them
// reset others: a scheduler brings its own nr_requests, and what changes the limits
// of the queue (write_cache, max_sectors_kb) sets read_ahead_kb anew. So
// Check refuses an order in which one undoes another, and all of a disk's are recorded
// with each.
func blockTunables() []Tunable {
	queue := func(name string, v values, about string, risks ...risk) Tunable {
		b := attribute{name: "queue/" + name}
		if name == "scheduler" {
			b.parse = bracketed
		}
		return Tunable{
			Name: "block.queue." + name, Scope: Device, About: about, Where: queueWhere + name, Survives: Never,
			values: v, risks: risks, backend: b,
		}
	}
	out := []Tunable{
		queue("write_cache", oneOf("write back", "write through"), "What the kernel takes the disk's cache for: with \"write through\" it sends no flushes. It does not change the disk.",
			risk{[]string{"write through"}, DataLoss, keptDirty}),
		queue("max_sectors_kb", multiple(4, 4, 1<<20), "The largest request, in KiB; at most max_hw_sectors_kb."),
		queue("scheduler", oneOf("none", "mq-deadline", "kyber", "bfq"), "The I/O scheduler. Its module is loaded if need be, and stays."),
		queue("nr_requests", number(4, 10240), "How many requests the queue holds; without a scheduler at most what the disk takes."),
		queue("wbt_lat_usec", number(0, 10_000_000), "The latency of reads, in microseconds, that writeback is throttled for; 0: it is not throttled."),
		queue("nomerges", oneOf("0", "1", "2"), "With 1, only simple merges of requests are tried; with 2, none."),
		queue("rq_affinity", oneOf("0", "1", "2"), "Whether a request completes near the CPU that issued it (1), or on it (2)."),
		queue("read_ahead_kb", multiple(4, 0, 1<<20), "How much is read ahead of a sequential reader, in KiB."),
		{
			Name: "block.device.queue_depth", Scope: Device, Survives: Never, Where: "/sys/block/X/device/queue_depth",
			About:  "How many commands a SCSI, SAS or SATA disk is given at a time.",
			values: number(1, 4096), backend: attribute{name: "device/queue_depth"},
		},
	}
	for i := range out {
		if out[i].Name != "block.device.queue_depth" {
			out[i].Restoring = "The other settings of the queue, of which the kernel resets some when this one is written, are put back with it."
		}
	}
	return out
}

// vmTunables are sysctls of the page cache.
func vmTunables() []Tunable {
	vm := func(name string, v values, about string, risks ...risk) Tunable {
		return Tunable{
			Name: "vm." + name, Scope: Node, About: about, Where: sysctls + name, Survives: Never,
			values: v, risks: risks, backend: file{path: fixed(sysctls + name)},
		}
	}
	either := func(name, other string, v values, about string, risks ...risk) Tunable {
		t := vm(name, v, about, risks...)
		t.backend = pair{own: name, other: other}
		t.Restoring = "Writing it switches off vm." + other + ". Both are put back, by writing the one that was in effect."
		return t
	}
	more := func(subject string) risk { return risk{nil, Memory, subject + " stays in memory until it is written"} }
	return []Tunable{
		either("dirty_background_ratio", "dirty_background_bytes", number(1, 100), "Writeback starts when so many percent of the available memory are dirty."),
		either("dirty_background_bytes", "dirty_background_ratio", size(4096, 1<<40), "Writeback starts when so much is dirty."),
		either("dirty_ratio", "dirty_bytes", number(1, 100), "Writers wait when so many percent of the available memory are dirty.", more("what is dirty")),
		either("dirty_bytes", "dirty_ratio", size(8192, 1<<40), "Writers wait when so much is dirty.", more("what is dirty")),
		vm("dirty_expire_centisecs", number(1, 360000), "Hundredths of a second after which dirty data is old enough to be written."),
		vm("dirty_writeback_centisecs", number(0, 360000), "Hundredths of a second between two looks for old dirty data; 0: none."),
		vm("vfs_cache_pressure", number(0, 1000), "How readily inodes and directory entries are given up, in percent of the page cache.",
			risk{[]string{"0"}, Memory, "with 0 inodes and directory entries are never given up"}),
	}
}
