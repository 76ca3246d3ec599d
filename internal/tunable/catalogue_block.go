package tunable

import (
	"regexp"
	"strings"
)

const (
	keptDirty  = "the kernel sends no more flushes to the disk: a power failure loses what is in the disk's cache, although fsync has returned"
	queueWhere = "/sys/block/X/queue/"
)

// driveTunables returns the settings of the caches in the disks themselves. The
// kernel derives the block queue's write_cache from them.
func driveTunables() []Tunable {
	const restoring = "Drives may keep the value when they are switched off. It is refused on a disk without a serial number or WWID, which could not be recognised later. " +
		"While the disk is missing, the setting stays in the journal."
	const flushes = " The kernel derives from it whether the disk gets flushes (block.queue.write_cache). After a reboot it does so again when the cache is restored; within a boot the old value is restored. " +
		"The kernel looks at the disk again after the cache was switched, so the worker waits, 2 seconds as a rule, until the queue's settings change no more."
	return []Tunable{
		{
			Name: "scsi.disk.cache_type", Scope: Device, Survives: Maybe, Where: "/sys/block/X/device/scsi_disk/*/cache_type",
			About: "The write cache of a SCSI, SAS or SATA disk. Plain values change the disk (MODE SELECT); \"temporary\" values change only the kernel's view of it, and so whether the kernel sends flushes.",
			Restoring: "A \"temporary\" value is undone with a \"temporary\" value. Then the kernel keeps its view until the disk is attached anew, the node boots, " +
				"or a plain value is written: if somebody switches the drive's cache in another way before that (hdparm, sdparm), the kernel does not notice, and may send no flushes to a cache that is on. " +
				restoring + flushes,
			values:  oneOf("write back", "write through", "none", "temporary write back", "temporary write through", "temporary none"),
			risks:   []risk{{[]string{"temporary write through", "temporary none"}, DataLoss, keptDirty}},
			backend: scsiCache{},
		},
		{
			Name: "ata.write_cache", Scope: Device, Survives: Maybe, Where: "hdparm -W /dev/X",
			About: "The write cache of an ATA disk. Off is safe but slow.", Restoring: restoring + flushes,
			values: oneOf("on", "off"), backend: ataCache{},
		},
		{
			Name: "nvme.volatile_write_cache", Scope: Device, Survives: Maybe, Where: "nvme get-feature --feature-id=6 /dev/X",
			About: "The volatile write cache of an NVMe controller, for all its namespaces. Off is safe but slow.", Restoring: restoring,
			values: oneOf("on", "off"), backend: nvmeCache{},
		},
	}
}

// blockTunables returns the attributes of the queue in front of a disk. Writing some
// of them resets others: a scheduler brings its own nr_requests, and a change of the
// queue's limits (write_cache, max_sectors_kb) resets read_ahead_kb. So Check refuses
// an order in which one setting undoes another, and the journal records all settings
// of a disk, and of its scheduler, with each change.
func blockTunables() []Tunable {
	queue := func(name string, v values, about string, risks ...risk) Tunable {
		b := attribute{name: "queue/" + name}
		switch "block.queue." + name {
		case scheduler:
			b.parse = parseBracketed
		case requests:
			b.least = leastRequests
		}
		return Tunable{
			Name: "block.queue." + name, Scope: Device, About: about, Where: queueWhere + name, Survives: Never,
			values: v, risks: risks, backend: b,
		}
	}
	out := []Tunable{
		queue("write_cache", oneOf("write back", "write through"), "What kind of cache the kernel assumes the disk has. With \"write through\" it sends no flushes. The disk itself does not change.",
			risk{[]string{"write through"}, DataLoss, keptDirty}),
		queue("max_sectors_kb", multiple(4, 4, 1<<20), "The largest request, in KiB; at most max_hw_sectors_kb."),
		queue("scheduler", oneOf("none", "mq-deadline", "kyber", "bfq"), "The I/O scheduler. The kernel loads its module if necessary; the module stays loaded."),
		queue("nr_requests", number(leastRequests, 10240), "How many requests the queue holds; without a scheduler at most as many as the disk accepts."),
		queue("wbt_lat_usec", number(0, 10_000_000), "The read latency in microseconds that the kernel aims for by throttling writeback; 0: no throttling."),
		queue("nomerges", oneOf("0", "1", "2"), "With 1, the kernel tries only simple merges of requests; with 2, none."),
		queue("rq_affinity", oneOf("0", "1", "2"), "Whether a request completes near the CPU that issued it (1), or on that CPU (2)."),
		queue("read_ahead_kb", multiple(4, 0, 1<<20), "How much the kernel reads ahead for a sequential reader, in KiB."),
		{
			Name: "block.device.queue_depth", Scope: Device, Survives: Never, Where: "/sys/block/X/device/queue_depth",
			About:  "How many commands a SCSI, SAS or SATA disk gets at a time.",
			values: number(1, 4096), backend: depth{attribute{name: "device/queue_depth"}},
			Restoring: "The kernel lowers it by itself when the disk's queue is full, and raises it again. So any value up to the benchmark's counts as the benchmark's.",
		},
	}
	for i := range out {
		if out[i].Name != "block.device.queue_depth" {
			out[i].Restoring = "The kernel resets other settings of the queue, and of its scheduler, when this one is written; they are restored with it."
		}
		switch out[i].Name {
		case requests:
			out[i].Restoring += " A disk that has fewer than 4, which the kernel would not take back, is refused."
		case "block.queue.wbt_lat_usec":
			out[i].Restoring += " Any write, also that of the old value, makes the kernel's automatic choice a manual one until the next boot: " +
				"bfq, for example, no longer switches the throttling off."
		}
	}
	return out
}

const (
	scheduler = "block.queue.scheduler"
	requests  = "block.queue.nr_requests"
	// leastRequests is the kernel's BLKDEV_MIN_RQ. A disk that takes fewer at a time has fewer from the start.
	leastRequests = 4
	// asyncDepth and what iosched precedes are settings that only a scheduler has, such as read_expire of
	// mq-deadline. They cannot be set by a benchmark, but a change of the scheduler, or of the number of
	// requests, loses what somebody else has set. New kernels have async_depth with the queue, earlier
	// ones with the scheduler.
	asyncDepth = "block.queue.async_depth"
	iosched    = "block.iosched."
)

var ioschedPattern = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

// recordedOnly returns a setting that a journal may contain, but no spec.
func recordedOnly(name string) (Tunable, bool) {
	t := Tunable{Name: name, Scope: Device, Survives: Never}
	if name == asyncDepth {
		t.backend = scheduled{attribute{name: "queue/async_depth"}}
		return t, true
	}
	file, ok := strings.CutPrefix(name, iosched)
	if !ok || !ioschedPattern.MatchString(file) {
		return Tunable{}, false
	}
	t.backend = attribute{name: "queue/iosched/" + file}
	return t, true
}

// recorded finds whatever a journal may contain.
func recorded(name string) (Tunable, bool) {
	if t, ok := catalogue().byName[name]; ok {
		return t, true
	}
	return recordedOnly(name)
}

// vmTunables returns sysctls of the page cache.
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
		t.Restoring = "Writing it switches off vm." + other + ". Writing the one that was in effect restores both."
		return t
	}
	more := func(subject string) risk {
		return risk{nil, Memory, subject + " stay in memory until they are written"}
	}
	return []Tunable{
		either("dirty_background_ratio", "dirty_background_bytes", number(1, 100), "Writeback starts when this percentage of the available memory is dirty."),
		either("dirty_background_bytes", "dirty_background_ratio", size(4096, 1<<40), "Writeback starts when this much memory is dirty."),
		either("dirty_ratio", "dirty_bytes", number(1, 100), "Writers wait when this percentage of the available memory is dirty.", more("dirty pages")),
		either("dirty_bytes", "dirty_ratio", size(8192, 1<<40), "Writers wait when this much memory is dirty.", more("dirty pages")),
		vm("dirty_expire_centisecs", number(1, 360000), "Hundredths of a second after which dirty data is old enough to write."),
		vm("dirty_writeback_centisecs", number(0, 360000), "Hundredths of a second between two searches for old dirty data; 0: no searches."),
		vm("vfs_cache_pressure", number(0, 1000), "How readily the kernel reclaims inodes and directory entries, compared with the page cache (100: equally).",
			risk{[]string{"0"}, Memory, "with 0 the kernel never reclaims inodes and directory entries"}),
	}
}
