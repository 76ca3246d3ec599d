package verdict

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// pair is a lie and honest twins of it, each a change of a world in which everything is honest.
type pair struct {
	// verdict that the lie deserves, on an operation, and effect of it. Without a verdict there
	// are twins only.
	verdict, operation string
	effect             result.Effect
	lie                func(f *Facts)
	// twins deserve nothing but also, and so does the lie beside its verdict.
	twins map[string]func(f *Facts)
	also  []string
}

const gib = float64(1 << 30)

var pairs = map[string]pair{
	"holes": {
		verdict: ThinReads, operation: "read", effect: result.Invalidates,
		lie:   both(setting("files.thin", 0.9), scaling("device.read.bytes", 0.1)),
		twins: map[string]func(*Facts){"that were not read": setting("files.thin", 0.9)},
	},
	"some holes": {verdict: ThinReads, operation: "read", effect: result.Qualifies, lie: both(setting("files.thin", 0.3), scaling("device.read.bytes", 0.7))},
	"reads from memory, and hardly a hole": {
		verdict: FromMemory, operation: "read", effect: result.Invalidates, lie: both(setting("files.thin", 0.005), scaling("device.read.bytes", 0.1)),
	},
	"a file system that compresses what is written": {
		verdict: DataReduced, operation: "write", effect: result.Invalidates,
		lie: both(options("compress=zstd"), scaling("device.write.bytes", 0.4), setting("device.drain.bytes", 0.0)),
		twins: map[string]func(*Facts){
			"data that does not compress": options("compress=zstd:3"), "compress=no": options("compress=no"), "f2fs": options("compress_algorithm=lz4"),
		},
	},
	"data that repeats itself, and a file system that did not compress it": {
		verdict: DataReduced, operation: "write", effect: result.Qualifies, lie: both(options("compress=zstd"), input("buffer_compress_percentage=90")),
	},
	"a file system that compresses what is read": {
		verdict: DataReduced, operation: "read", effect: result.Qualifies, lie: both(options("compress-force=lzo"), scaling("device.read.bytes", 0.7)),
	},
	"bcachefs, which compresses": {
		verdict: DataReduced, operation: "read", effect: result.Qualifies, lie: both(options("compression=lz4"), scaling("device.read.bytes", 0.7)),
		twins: map[string]func(*Facts){"compression=none": options("compression=none")},
	},
	"a file system that compresses, after the clock has stopped": {
		verdict: FromMemory, operation: "write", effect: result.Invalidates,
		lie: both(options("compress=zstd"), func(f *Facts) {
			f.set("device.drain.bytes", f.value("device.write.bytes"), "device.write.bytes", 0.0)
		}),
	},
	"data that repeats itself": {
		verdict: DataReduced, operation: "write", effect: result.Qualifies, lie: input("zero_buffers=1"),
		twins: map[string]func(*Facts){"random": input("refill_buffers=1"), "not asked for": input("zero_buffers=0\nbuffer_compress_percentage=0")},
	},
	"buffers that are written again as they are": {
		verdict: DataReduced, operation: "write", effect: result.Qualifies, lie: input("scramble_buffers=0"),
		twins: map[string]func(*Facts){"filled again": input("scramble_buffers=0\nrefill_buffers=1"), "changed": input("scramble_buffers=1")},
	},
	"direct I/O that was refused": {
		verdict: DirectIOFallback, effect: result.Qualifies,
		lie: func(f *Facts) { f.Measurement.DirectIO.Effective = result.CachedAnyway },
		twins: map[string]func(*Facts){
			"not asked for": func(f *Facts) {
				f.Measurement.DirectIO = &result.DirectIO{Effective: result.CachedAnyway}
			},
		},
	},
	"direct I/O that was refused, where nothing is counted": {
		verdict: DirectIOFallback, effect: result.Invalidates, also: []string{NoDeviceEvidence},
		lie:   both(blind, func(f *Facts) { f.Measurement.DirectIO.Effective = result.CachedAnyway }),
		twins: map[string]func(*Facts){"it was not": blind},
	},
	"more than the link": {
		verdict: ImpossibleUncached, operation: "read", effect: result.Invalidates, lie: link(0.9),
		twins: map[string]func(*Facts){
			"as much":          link(1),
			"one is not known": both(link(0.1), func(f *Facts) { f.Target.Layers[len(f.Target.Layers)-1].LinkBytesPerSecond = 0 }),
		},
	},
	"faster than a disk": {
		verdict: ImpossibleUncached, operation: "write", effect: result.Invalidates, lie: setting("write.latency.p50", 1.9e-6),
		twins: map[string]func(*Facts){"a very fast disk": setting("write.latency.p50", 2.1e-6), "through the page cache": both(buffered, setting("read.latency.p50", 1e-6))},
	},
	"nobarrier": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Qualifies, lie: options("nobarrier"),
		twins: map[string]func(*Facts){"barriers": options("barrier=1"), "a name that begins like it": options("nobarriers,volatiles")},
	},
	"nobarrier of f2fs": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Qualifies, lie: options("rw,fsync_mode=nobarrier"),
		twins: map[string]func(*Facts){"as POSIX asks": options("rw,fsync_mode=posix"), "of reiserfs": options("barrier=flush")},
	},
	"syncs that do not reach a server": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Invalidates, lie: both(options("nostrictsync"), input("fsync=1")),
		twins: map[string]func(*Facts){"they do": both(options("strictsync"), input("fsync=1"))},
	},
	"nobarrier, and syncs": {verdict: UnsafeConfiguration, operation: "write", effect: result.Invalidates, lie: both(options("barrier=0"), input("fsync=1"))},
	"a cache that the kernel does not flush": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Qualifies, lie: cache("write through", "write back"),
		twins: map[string]func(*Facts){
			"no cache": cache("write through", "write through"), "it is flushed": cache("write back", "write back"), "the disk says nothing": cache("write through", ""),
		},
	},
	"a variant that stops flushes": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Invalidates, lie: both(tunable("block.queue.write_cache", "write through"), input("fdatasync=8")),
		twins: map[string]func(*Facts){
			"one that sends them": tunable("block.queue.write_cache", "write back"), "another setting": tunable("block.queue.scheduler", "none"),
			"ZFS syncs": tunable("zfs.dataset.sync", "always"),
		},
	},
	"sync=disabled, as a variant": {verdict: UnsafeConfiguration, operation: "write", effect: result.Qualifies, lie: tunable("zfs.dataset.sync", "disabled")},
	"zfs_nocacheflush": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Qualifies, lie: setting("zfs.nocacheflush", 1.0),
		twins: map[string]func(*Facts){"off": setting("zfs.nocacheflush", 0.0)},
	},
	"an intent log that files opened to sync do not reach": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Invalidates, lie: both(input("sync=dsync"), setting("zfs.zil.commits", 0.0, "write.ios", 100.0)),
		twins: map[string]func(*Facts){
			"they do": both(input("sync=dsync"), setting("zfs.zil.commits", 100.0, "write.ios", 100.0)), "they do not sync": both(input("sync=none"), setting("zfs.zil.commits", 0.0, "write.ios", 100.0)),
		},
	},
	"an intent log that nothing is written to": {
		verdict: UnsafeConfiguration, operation: "write", effect: result.Invalidates, lie: both(input("fsync=1"), setting("zfs.zil.commits", 0.0, "sync.ios", 100.0)),
		twins: map[string]func(*Facts){
			"it is": both(input("fsync=1"), setting("zfs.zil.commits", 100.0, "sync.ios", 100.0)), "nothing syncs": setting("zfs.zil.commits", 0.0, "sync.ios", 0.0),
		},
	},
	"failed operations": {
		verdict: ToolErrors, operation: "read", effect: result.Invalidates, lie: setting("read.errors", 3.0), twins: map[string]func(*Facts){"none": setting("read.errors", 0.0, "errors", 0.0)},
	},
	"errors of an operation that nobody knows": {
		verdict: ToolErrors, effect: result.Invalidates, lie: setting("errors", 3.0),
		twins: map[string]func(*Facts){"none": setting("read.errors", 0.0)},
	},
	"a limit of bytes": {
		verdict: Throttled, operation: "read", effect: result.Qualifies, lie: limit("read", "bytes", 1),
		twins: map[string]func(*Facts){
			"far away": limit("read", "bytes", 2), "from memory, faster than it": both(buffered, limit("write", "bytes", 2), scaling("write.bandwidth", 1e3)),
		},
	},
	"a limit of operations": {
		verdict: Throttled, operation: "write", effect: result.Qualifies, lie: limit("write", "count", 1),
		twins: map[string]func(*Facts){"far away": limit("write", "count", 2)},
	},
	"a CPU quota": {
		verdict: CPUThrottled, effect: result.Invalidates, lie: setting("cpu.throttled", 0.21), twins: map[string]func(*Facts){"hardly": setting("cpu.throttled", 0.009)},
	},
	"all of several CPUs' quotas": {verdict: CPUThrottled, effect: result.Invalidates, lie: setting("cpu.throttled", 1.09)},
	"something of a CPU quota":    {verdict: CPUThrottled, effect: result.Qualifies, lie: setting("cpu.throttled", 0.02)},
	"threads that compute": {
		verdict: CPUBound, effect: result.Qualifies,
		lie: both(input("rw=randrw\nnumjobs=2"), setting("cpu.user", 0.4, "cpu.system", 1.5, "device.queue.depth", 0.2)),
		twins: map[string]func(*Facts){
			"the disks are busy":               both(input("rw=randrw\nnumjobs=2"), setting("cpu.user", 0.4, "cpu.system", 1.5, "device.queue.depth", 1.9)),
			"some of the time":                 both(input("rw=randrw\nnumjobs=2"), setting("cpu.user", 0.4, "cpu.system", 0.5, "device.queue.depth", 1.9)),
			"busy for half of what is counted": both(input("rw=randrw\nnumjobs=2"), setting("cpu.user", 0.4, "cpu.system", 1.5, "device.queue.depth", 0.95), scaling("device.seconds", 2.0)),
			"of which there are more":          both(input("rw=randrw\nnumjobs=3"), setting("cpu.user", 0.4, "cpu.system", 1.5)),
			"of an unknown number":             setting("cpu.user", 8.0),
			"that sleep for each I/O": both(input("rw=randrw\nnumjobs=2"), setting("cpu.user", 0.4, "cpu.system", 1.5, "device.queue.depth", 0.2,
				"engine.cpu.wait.mean", 49e-6, "engine.cpu.wait.share", 0.4, "engine.cpu.slice.mean", 90e-6)),
		},
	},
	"more than the storage can do": {
		verdict: Overloaded, operation: "write", effect: result.Invalidates,
		lie: func(f *Facts) { f.set("write.rate.offered", 2*f.value("write.iops")); f.set("write.backlog", 100.0) },
		twins: map[string]func(*Facts){
			"just as much": func(f *Facts) { f.set("write.rate.offered", f.value("write.iops")); f.set("write.backlog", 0.0) },
			"spinning until the next operation": both(input("rw=randrw\nnumjobs=2"), setting("cpu.user", 1.9, "device.queue.depth", 0.2), func(f *Facts) {
				f.set("write.rate.offered", f.value("write.iops"))
			}),
		},
	},
	"threads that compute for milliseconds at a time": {
		verdict: CPUBound, effect: result.Qualifies,
		lie: both(input("rw=randrw\nnumjobs=2"), setting("cpu.user", 0.4, "cpu.system", 1.5, "device.queue.depth", 0.2, "engine.cpu.wait.mean", 10e-6, "engine.cpu.slice.mean", 2e-3)),
	},
	"a program that computes on the same core": {
		verdict: CPUBound, effect: result.Invalidates, lie: waiting(0.6, 0.5),
		twins: map[string]func(*Facts){
			// Of a fast disk: fio is woken all the time, and finds the kernel's own threads at work.
			"threads of the kernel": setting("engine.cpu.wait.mean", 45e-6, "engine.cpu.wait.share", 0.6),
			"now and then":          waiting(0.6, 0.09),
			"next to a slow disk":   waiting(0.09, 0.5),
			// It sleeps for syncs, and not for the writes to memory between them.
			"writes to memory between syncs": both(waiting(0.09, 0.5), func(f *Facts) {
				f.Measurement.Operations = append(f.Measurement.Operations, "sync")
				f.set("sync.latency.mean", 20*f.value("engine.cpu.wait.mean"))
			}),
		},
	},
	"a rate that falls to a third": {
		verdict: NotSteady, operation: "read", effect: result.Qualifies, lie: went("read", 30, 1, step(noise(rand.New(rand.NewPCG(1, 1)), 0.05, 0), 12, 0.33)),
		twins: map[string]func(*Facts){
			"noise":           went("read", 30, 1, noise(rand.New(rand.NewPCG(1, 2)), 0.05, 0)),
			"a little of it":  went("read", 30, 1, step(noise(rand.New(rand.NewPCG(1, 3)), 0.02, 0), 12, 0.96)),
			"too few to tell": went("read", 9, 1, step(noise(rand.New(rand.NewPCG(1, 4)), 0.05, 0), 5, 0.33)),
		},
	},
	"programs that take turns": {
		verdict: CPUBound, effect: result.Qualifies,
		lie: both(waiting(0.6, 0.5), func(f *Facts) {
			for _, op := range f.operations() {
				f.set(op+".latency.mean", 600e-6)
			}
			f.set("engine.cpu.wait.mean", 500e-6)
		}),
	},
	"a program that computes now and then": {
		verdict: CPUBound, effect: result.Qualifies, lie: waiting(0.3, 0.3),
		twins: map[string]func(*Facts){"threads of the kernel that do the storage's work": both(waiting(0.2, 0.4), func(f *Facts) {
			for _, op := range f.operations() {
				f.set(op+".latency.mean", 400e-6)
			}
			f.set("engine.cpu.wait.mean", 80e-6)
		})},
	},
	"flushes that never reach the disk": {
		verdict: MayIgnoreFlushes, operation: "fdatasync", effect: result.Invalidates, lie: climbed(20, 100, 0),
		twins: map[string]func(*Facts){"each does, and takes longer the more there is": climbed(20, 400, 0), "two disks": climbed(20, 800, 0)},
	},
	"a flush that takes no longer": {
		verdict: MayIgnoreFlushes, operation: "flush", effect: result.Qualifies, lie: climbed(1.1, 400, 0),
		twins: map[string]func(*Facts){"longer": climbed(2.5, 400, 0)},
	},
	"a spinning disk that is faster than it turns": {
		verdict: MayIgnoreFlushes, operation: "fsync", effect: result.Qualifies, lie: both(climbed(20, 400, 2000), spinning("")),
		twins: map[string]func(*Facts){
			"as fast as it turns": both(climbed(20, 400, 120), spinning("")), "which is none": both(climbed(20, 400, 2000)),
		},
	},
	"a disk of a virtual machine": {
		verdict: FlushesUnproven, operation: "flush", effect: result.Qualifies, lie: both(climbed(20, 400, 2000), spinning("its caches cannot be seen from here")),
	},
	"flushes that the kernel does not count": {
		verdict: FlushesUnproven, operation: "fdatasync", effect: result.Qualifies, also: []string{NoDeviceEvidence}, lie: both(climbed(20, 0, 0), blind),
		twins: map[string]func(*Facts){"it does": climbed(20, 400, 0)},
	},
	"flushes that a page cache below answers": {
		verdict: FlushesUnproven, operation: "flush", effect: result.Qualifies, also: []string{CachedBelow}, lie: both(climbed(1.1, 400, 0), loopOnly(false)),
	},
	"a disk that claims no volatile cache": {
		verdict: FlushesUnproven, operation: "fdatasync", effect: result.Qualifies, lie: both(climbed(1, 0, 0), caching("write through")),
		twins: map[string]func(*Facts){"of a workload that is no ladder": caching("write through")},
	},
	"a queue above the device": {
		verdict: QueueHidesLatency, operation: "read", effect: result.Qualifies, lie: queue(8, 0.8e-3),
		twins: map[string]func(*Facts){
			"below it": queue(32, 3.2e-3), "of a device that answers at once": queue(8, 0.2e-3), "of which the device has the time": queue(8, 3e-3),
		},
	},
	"a bandwidth of small blocks": {
		verdict: BlockSizeLimited, operation: "write", effect: result.Qualifies, lie: blocks(4096, 4096, 1),
		twins: map[string]func(*Facts){
			"large blocks": blocks(1<<20, 512<<10, 1), "merged ones": blocks(4096, 512<<10, 1), "many at a time": blocks(4096, 4096, 16),
			"random ones": both(blocks(4096, 4096, 1), input("rw=randwrite")), "whose rate was asked for": blocks(4096, 4096, 0.05),
			"through the page cache": both(blocks(4096, 512<<10, 1), buffered, setting("device.queue.depth", 0.9)),
		},
	},
	"disks that were busy before": {
		verdict: BackgroundIO, effect: result.Invalidates, lie: background(0.25), twins: map[string]func(*Facts){"idle": background(0), "hardly": background(0.04), "a log": setting("background.write.bytes", 200e3, "device.seconds", 1e6)},
	},
	"an array that is being rebuilt": {
		verdict: BackgroundIO, effect: result.Qualifies, lie: doing(result.Activity{On: "md0", What: "resync", Done: 0.25}),
		twins: map[string]func(*Facts){"an ext4 that is initialised, maybe another one": doing(result.Activity{On: "fs:/data", What: result.LazyInit, Maybe: true})},
	},
	"disks that were somewhat busy before": {verdict: BackgroundIO, effect: result.Qualifies, lie: background(0.1)},
	"somebody else who reads": {
		verdict: NoisyNeighbour, effect: result.Invalidates, lie: neighbour(0.5), twins: map[string]func(*Facts){"hardly": neighbour(0.04)},
	},
	"somebody else who reads a little": {verdict: NoisyNeighbour, effect: result.Qualifies, lie: both(setting("read.bytes", 10*gib, "device.read.bytes", 10*gib), neighbour(0.1))},
	"what a file system writes for itself": {
		twins: map[string]func(*Facts){
			"that copies":  both(func(f *Facts) { f.Target.FilesystemType = "btrfs" }, scaling("device.write.bytes", 2.0)),
			"a journal":    both(input("fsync=1"), scaling("device.write.bytes", 2.0)),
			"its metadata": scaling("device.write.bytes", 1.2),
		},
	},
	"a small working set": {
		verdict: WorkingSetTooSmall, operation: "read", effect: result.Qualifies, also: []string{NoDeviceEvidence},
		lie: both(blind, buffered, setting("files.bytes", 7*gib), func(f *Facts) { f.Memory.TotalBytes = 4 << 30 }),
		twins: map[string]func(*Facts){
			"a large one":       both(blind, buffered, setting("files.bytes", 8*gib), func(f *Facts) { f.Memory.TotalBytes = 4 << 30 }),
			"a cgroup's memory": both(blind, buffered, setting("files.bytes", 1*gib), func(f *Facts) { f.Memory.TotalBytes, f.Memory.LimitBytes = 4<<30, 256<<20 }),
			"past the cache":    both(blind, setting("files.bytes", 1*gib), func(f *Facts) { f.Memory.TotalBytes = 4 << 30 }),
		},
	},
	"disks that nobody counts": {
		verdict: NoDeviceEvidence, effect: result.Qualifies, lie: both(blind, setting("background.read.bytes", 0.0)),
		twins: map[string]func(*Facts){"but ZFS's cache": both(blind, setting("zfs.arc.hits", 0.0, "zfs.arc.misses", 1000.0))},
	},
	"another tool's output": {verdict: NoDeviceEvidence, effect: result.Qualifies, lie: func(f *Facts) { f.Imported = true }},
	"a runner that computes": {
		verdict: RunnerDisturbs, effect: result.Qualifies, lie: setting("runner.cpu", 0.06),
		twins: map[string]func(*Facts){"hardly": setting("runner.cpu", 0.04), "in a short trial": setting("runner.cpu", 0.5, "device.seconds", 0.9)},
	},
	"an ARC below a page cache, which answers most": {
		verdict: FromMemory, operation: "read", effect: result.Invalidates, lie: both(scaling("device.read.bytes", 0.3), setting("zfs.arc.hits", 9.0, "zfs.arc.misses", 91.0)),
		twins: map[string]func(*Facts){
			"a dataset, whose disks read records": both(func(f *Facts) { f.Target.FilesystemType = "zfs" }, setting("zfs.arc.hits", 9.0, "zfs.arc.misses", 91.0)),
		},
	},
	"an ARC that answers": {
		verdict: FromMemory, operation: "read", effect: result.Invalidates, lie: setting("zfs.arc.hits", 60.0, "zfs.arc.misses", 40.0),
		twins: map[string]func(*Facts){"hardly": setting("zfs.arc.hits", 9.0, "zfs.arc.misses", 91.0)},
	},
	"an engine that times its sync apart": {
		verdict: FromMemory, operation: "write", effect: result.Invalidates, lie: setting("drain.duration", 6.0, "phase.transactions.duration", 4.0),
		twins: map[string]func(*Facts){"short": setting("drain.duration", 0.4, "phase.transactions.duration", 4.0)},
	},
	"a fast disk that makes up for it in no time": {
		verdict: FromMemory, operation: "write", effect: result.Invalidates, lie: both(buffered, setting("drain.duration", 0.043, "phase.transactions.duration", 0.022)),
		twins: map[string]func(*Facts){
			"direct I/O, and a flush":  setting("drain.duration", 0.043, "phase.transactions.duration", 0.022),
			"a flush":                  both(buffered, setting("drain.duration", 0.004, "phase.transactions.duration", 0.022)),
			"most of it was on a disk": both(buffered, setting("drain.duration", 0.043, "phase.transactions.duration", 0.6)),
		},
	},
	"a journal that hides what is missing": {
		verdict: FromMemory, operation: "write", effect: result.Invalidates, lie: both(buffered, leftover(1)),
		twins: map[string]func(*Facts){
			"others' data, and direct I/O": leftover(1), "others' data, and a sync": both(buffered, input("end_fsync=1"), leftover(1)), "metadata": both(buffered, leftover(0.05)),
		},
	},
	"several tests that memory answered": {
		verdict: FromMemory, operation: "read", effect: result.Invalidates,
		lie: func(f *Facts) { f.set("tests.read.bytes", 20*f.value("device.read.bytes")) },
	},
	"several tests, one of which memory answered": {
		verdict: FromMemory, operation: "read", effect: result.Qualifies,
		lie:   func(f *Facts) { f.set("tests.read.bytes", 3*f.value("device.read.bytes")) },
		twins: map[string]func(*Facts){"none": func(f *Facts) { f.set("tests.read.bytes", f.value("device.read.bytes")) }},
	},
}

// honestWorlds are facts of worlds that deserve no verdict, with reads and writes past the page
// cache.
func honestWorlds(r *rand.Rand, n int) []Facts {
	var out []Facts
	for len(out) < n {
		w := randomWorld(r)
		w.fromCache, w.dirty, w.direct = 0, 0, true
		if w.reads == 0 || w.writes == 0 || w.reads > 20*w.writes || w.writes > 20*w.reads {
			continue
		}
		out = append(out, w.facts())
	}
	return out
}

// In whichever honest world it is told, each lie has its verdict and no other, and its twins
// have none.
func TestEachLieHasItsVerdictAndItsTwinsHaveNone(t *testing.T) {
	for name, p := range merged(pairs, spinningPairs, memoryPairs, unsyncedPairs, depthPairs, littlePairs, trimPairs, layerPairs, zfsPairs, pathPairs, cachePairs, limitPairs, syncPairs, sharedPairs) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(100) {
				world := func() Facts { return honestWorlds(rand.New(rand.NewPCG(seed, 1)), 1)[0] }
				if f := world(); p.lie != nil {
					p.lie(&f)
					judged := Judge(f)
					if v := find(judged, p.verdict, p.operation); v == nil || v.Operation != p.operation || v.Effect != p.effect {
						t.Fatalf("seed %d: %s is missed: %+v", seed, p.verdict, judged)
					}
					onlyThese(t, fmt.Sprintf("seed %d, the lie", seed), judged, append(p.also, p.verdict))
				}
				for twin, change := range p.twins {
					f := world()
					change(&f)
					onlyThese(t, fmt.Sprintf("seed %d, %s", seed, twin), Judge(f), p.also)
				}
			}
		})
	}
}

func merged(all ...map[string]pair) map[string]pair {
	out := map[string]pair{}
	for _, some := range all {
		maps.Copy(out, some)
	}
	return out
}

func onlyThese(t *testing.T, what string, verdicts []result.Verdict, names []string) {
	t.Helper()
	for _, v := range verdicts {
		if !slices.Contains(names, v.Name) {
			t.Fatalf("%s: accused of %+v", what, v)
		}
	}
}

// A verdict that no pair tells is one that nobody knows to be right.
func TestThereIsALieForEachVerdict(t *testing.T) {
	told := map[string]bool{}
	for _, p := range merged(pairs, spinningPairs, memoryPairs, unsyncedPairs, depthPairs, littlePairs, trimPairs, layerPairs, zfsPairs, pathPairs, cachePairs, limitPairs, syncPairs, sharedPairs) {
		told[p.verdict] = told[p.verdict] || p.lie != nil
	}
	for _, name := range Names {
		if !told[name] && name != SameDevice { // of two targets: TestTwoTargetsOnOneDiskAreTold in package stats
			t.Errorf("there is no lie for %s", name)
		}
	}
}

// The page that explains verdicts has each of them.
func TestEachVerdictIsExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/verdicts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names {
		if !strings.Contains(string(page), "\n| "+name+" | ") {
			t.Errorf("docs/reference/verdicts.md does not explain %s", name)
		}
	}
}

// The path of a file is whatever somebody called it.
func TestASentenceIsOneLineWhateverAFileIsCalled(t *testing.T) {
	f := Facts{Target: result.TargetEnvironment{Layers: []result.Layer{{ID: "fs:/mnt/a\n\x1b[2Jb\xff", Kind: result.FilesystemLayer, Type: "tmpfs", InMemory: true}}}}
	verdicts := Judge(f)
	if len(verdicts) != 1 || verdicts[0].Sentence != "The target is kept in this machine's memory: /mnt/a??[2Jb? (tmpfs)." {
		t.Errorf("%+v", verdicts)
	}
}

// Of several jobs that read, one may have read all that the disks did: memory is not the cause of
// every number.
func TestJobsThatSharedTheDisksAreJudgedWithCaution(t *testing.T) {
	w := world{reads: 1 << 30, fromCache: 0.6, copies: 1, seconds: 10}
	for jobs, want := range map[int]result.Effect{1: result.Invalidates, 2: result.Qualifies} {
		f := w.facts()
		for range jobs {
			f.Measurement.Parts = append(f.Measurement.Parts, result.Part{Operations: []string{"read"}})
		}
		if v := find(Judge(f), FromMemory, "read"); v == nil || v.Effect != want {
			t.Errorf("of %d jobs: %+v, want %s", jobs, v, want)
		}
	}
}
