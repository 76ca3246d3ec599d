package verdict

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// syncPairs are lies that only a sync at the right moment would make true.
var syncPairs = map[string]pair{
	"a MiB that is written again and again, and synced once": {
		verdict: WorkingSetTooSmall, operation: "write", effect: result.Qualifies, lie: overwriting("end_fsync=1"),
		twins: map[string]func(*Facts){
			"each time": overwriting("fsync=1"), "each 64 KiB": overwriting("fdatasync=16"), "by how it is opened": overwriting("sync=dsync"),
			"by how it is mounted": both(overwriting(""), options("sync")),
		},
	},
	"a MiB that is written again and again, and synced now and then":                       {verdict: WorkingSetTooSmall, operation: "write", effect: result.Qualifies, lie: overwriting("fsync=2048")},
	"a MiB that is written again and again, with a sync that never comes":                  {verdict: WorkingSetTooSmall, operation: "write", effect: result.Qualifies, lie: overwriting("fdatasync=1000000000")},
	"clones that write the same blocks, one after the other, and sync them after many":     {verdict: WorkingSetTooSmall, operation: "write", effect: result.Qualifies, lie: both(writing("fsync=64"), setting("write"+result.InStep, 0.5)), twins: map[string]func(*Facts){"after each": both(writing("fsync=1"), setting("write"+result.InStep, 0.5))}},
	"a neighbour that writes, beside a job that only reads and has options of syncs":       {verdict: NoisyNeighbour, effect: result.Invalidates, lie: both(reading("fsync=1\nend_fsync=1\nsync=1"), besides(2)), twins: map[string]func(*Facts){"none": reading("fsync=1")}},
	"a neighbour that writes, beside a job that syncs once":                                {verdict: NoisyNeighbour, effect: result.Invalidates, lie: both(writing("end_fsync=1"), besides(2)), twins: map[string]func(*Facts){"a journal, beside one that syncs each time": both(writing("fsync=1"), besides(2))}},
	"a neighbour that syncs, beside a job that only reads and has options of syncs":        {verdict: NoisyNeighbour, effect: result.Qualifies, lie: both(reading("fsync=1"), flushed(100, 2e-3))},
	"a neighbour that syncs, beside a job that syncs once":                                 {verdict: NoisyNeighbour, effect: result.Qualifies, lie: both(writing("end_fsync=1"), flushed(100, 2e-3)), twins: map[string]func(*Facts){"its own": both(writing("fsync=1"), ownFlushes(2)), "its file system's": both(writing(""), options("sync"), ownFlushes(3), besides(2))}},
	"syncs of the file system itself, without barriers":                                    {verdict: UnsafeConfiguration, operation: "write", effect: result.Invalidates, lie: both(writing(""), options("sync,barrier=0"))},
	"writes that are left in memory, by a job whose sync never comes":                      {verdict: FromMemory, operation: "write", effect: result.Invalidates, lie: both(writing("fsync=1000000000"), buffered, leftover(0.95)), twins: map[string]func(*Facts){"others' writes, after its last sync": both(writing("fsync=64"), buffered, leftover(0.95)), "after its sync at the end": both(writing("end_fsync=1"), buffered, leftover(0.95))}},
	"writes that the kernel only begins to write, as fio's syncs are sync_file_range":      {verdict: FromMemory, operation: "write", effect: result.Invalidates, lie: both(writing("sync_file_range=write:8"), buffered, leftover(0.95), setting("sync.ios", 1e6))},
	"blocks of 512 bytes that a neighbour writes, beside files that are there":             {verdict: NoisyNeighbour, effect: result.Invalidates, lie: both(writing(""), small512(result.Overwrite), besides(4)), twins: map[string]func(*Facts){"that direct I/O pads": both(writing(""), small512(result.Fresh), besides(4)), "that it pads in files as they were found": both(writing(""), small512(result.AsFound), besides(0.875))}},
	"a job that reads and writes by turns, whose reads have a limit":                       {verdict: Throttled, operation: "write", effect: result.Qualifies, lie: both(input("rw=randrw"), limit("read", "bytes", 1)), twins: map[string]func(*Facts){"far away": both(input("rw=randrw"), limit("read", "bytes", 2))}},
	"a job that reads and writes by turns, whose syncs flush nothing":                      {verdict: UnsafeConfiguration, operation: "read", effect: result.Qualifies, lie: both(input("rw=randrw\nfsync=1"), options("nobarrier"))},
	"a neighbour of whose writes nobody knows who submitted them, beside reads of its own": {verdict: NoisyNeighbour, effect: result.Invalidates, lie: both(neighbour(1), setting("device.foreign.share", 0.1, "device.unknown.share", 0.45))},
}

// sharedPairs are of what a disk or a file holds besides the target's data, and of what only a part of it does.
var sharedPairs = map[string]pair{
	"a neighbour below a loop device": {
		verdict: NoisyNeighbour, effect: result.Invalidates, lie: both(onLoop("ext4", true), belowDoes(4, 4)),
		twins: map[string]func(*Facts){
			"none": onLoop("ext4", true), "metadata": both(onLoop("xfs", true), belowDoes(1.05, 1.2)),
			"on a file system that writes more than it is given": both(onLoop("btrfs", true), belowDoes(1, 4)),
			"that may be the page cache, which reads ahead":      both(onLoop("ext4", false), belowDoes(2, 2)),
			"journals of its file, which is flushed":             both(writing("fsync=1"), onLoop("ext4", true), ownFlushes(1), belowDoes(1, 4)),
		},
	},
	"a neighbour that has half of what is below a loop device": {verdict: NoisyNeighbour, effect: result.Qualifies, lie: both(onLoop("ext4", true), belowDoes(1.7, 1.7))},
	"a loop device whose file's zeroes are holes": {
		verdict: CachedBelow, operation: "write", effect: result.Invalidates, lie: both(writing("end_fsync=1"), buffered, onLoop("ext4", false), belowDoes(1, 0.1)),
		twins: map[string]func(*Facts){"that ext4 writes after its first mount": both(writing("end_fsync=1"), buffered, onLoop("ext4", true), func(f *Facts) {
			f.set("below.write.bytes", f.value("device.write.bytes"))
			f.scale("device.write.bytes", 4.0)
		})},
	},
	"reads from memory, and some holes": {verdict: FromMemory, operation: "read", effect: result.Invalidates, lie: both(buffered, input("end_fsync=1"), setting("files.thin", 0.02), scaling("device.read.bytes", 0.05))},
	"half of it holes, and the rest from memory": {
		verdict: ThinReads, operation: "read", effect: result.Invalidates, also: []string{FromMemory}, lie: both(buffered, input("end_fsync=1"), setting("files.thin", 0.55), scaling("device.read.bytes", 0.05)),
	},
	"a bandwidth of small blocks, which the page cache does not read ahead": {
		verdict: BlockSizeLimited, operation: "read", effect: result.Qualifies, lie: smallReads(4096, 0.9),
		twins: map[string]func(*Facts){
			"many at a time at the disk": smallReads(4096, 4), "read ahead": smallReads(128<<10, 0.9),
			"writes that are synced each": both(blocks(4096, 4096, 1), buffered, setting("device.queue.depth", 0.9)),
		},
	},
	"two jobs that compute": {
		verdict: CPUBound, effect: result.Qualifies, lie: both(twoJobs, setting("cpu.user", 0.4, "cpu.system", 1.55, "device.queue.depth", 0.2)),
		twins: map[string]func(*Facts){
			"of which one does":          both(twoJobs, setting("cpu.user", 0.4, "cpu.system", 0.6, "device.queue.depth", 0.2)),
			"of which nobody knows when": both(twoJobs, func(f *Facts) { f.Measurement.Input += "stonewall=1\n" }, setting("cpu.user", 0.4, "cpu.system", 1.55)),
		},
	},
	"a host that gives the CPUs to others": {verdict: CPUBound, effect: result.Qualifies, lie: steals(0.15), twins: map[string]func(*Facts){"now and then": steals(0.05), "that does not say": steals(math.NaN())}},
	"a limit of one of two disks": {
		verdict: Throttled, operation: "write", effect: result.Qualifies, lie: twoDisks(1, 0),
		twins: map[string]func(*Facts){"which is idle": twoDisks(5, 0), "far away": twoDisks(0.4, 0.4)},
	},
	"a limit of one of two disks, which the other one makes up for": {verdict: Throttled, operation: "write", effect: result.Qualifies, lie: twoDisks(1, 9)},
}

// counted makes the workload's writes as many as there are blocks of a size in them.
func counted(f *Facts, block float64) { f.set("write.ios", f.value("write.bytes")/block) }

// writing is a job that only writes, at random, in blocks of 4 KiB.
func writing(options string) func(*Facts) {
	return both(writesOnly, input("rw=randwrite\n"+options), func(f *Facts) { counted(f, 4096) })
}

// overwriting writes the same MiB all the time.
func overwriting(options string) func(*Facts) {
	return both(writing(options), setting(result.FilesBytes, float64(1<<20)))
}

// reading is a job that only reads.
func reading(options string) func(*Facts) {
	return both(input("rw=randread\n"+options), func(f *Facts) {
		f.Measurement.Operations = []string{"read"}
		f.set("write.bytes", 0.0, "device.write.bytes", 0.0, "device.write.count", 0.0, "device.drain.bytes", 0.0)
	})
}

// besides makes the disks write so many times what they did for the workload, in addition.
func besides(share float64) func(*Facts) {
	return func(f *Facts) {
		f.set("device.write.bytes", f.value("device.write.bytes")+share*(f.value("read.bytes")+f.copies()*f.value("write.bytes")))
	}
}

func flushed(perSecond, seconds float64) func(*Facts) {
	return func(f *Facts) {
		f.set("device.flush.count", perSecond*f.value("device.seconds"), "device.flush.await", seconds)
	}
}

// ownFlushes are so many of each disk for each write, which take half of the time.
func ownFlushes(each float64) func(*Facts) {
	return func(f *Facts) {
		n := each * f.value("write.ios") * float64(len(f.Target.Devices))
		f.set("device.flush.count", n, "device.flush.await", 0.5*f.value("device.seconds")/n)
	}
}

// small512 makes blocks of 512 bytes, and files such as they were before.
func small512(files result.FileState) func(*Facts) {
	return func(f *Facts) {
		counted(f, 512)
		f.Measurement.Files = []result.FileChoice{{Job: "j", Files: files}}
	}
}

// onLoop puts the target on a loop device whose file is on another file system, of a disk that does what the loop device asks for.
func onLoop(filesystem string, direct bool) func(*Facts) {
	return func(f *Facts) {
		f.set("device.write.bytes", f.value("write.bytes"), "device.write.count", f.value("write.bytes")/4096)
		f.Target.Devices = []result.Device{{Name: "loop0"}}
		f.Target.Layers = []result.Layer{
			{ID: "fs:/data", Kind: result.FilesystemLayer, Type: "ext4", Below: []string{"loop0"}},
			{ID: "loop0", Kind: result.LoopLayer, Type: "loop", DirectIO: &direct, IOStats: true, Below: []string{"fs:/"}},
			{ID: "fs:/", Kind: result.FilesystemLayer, Type: filesystem, Below: []string{"sda"}},
			{ID: "sda", Kind: result.DiskLayer, Type: "scsi", IOStats: true},
		}
		belowDoes(1, 1)(f)
	}
}

// belowDoes makes the disk below a loop device read and write so many times what that does.
func belowDoes(reads, writes float64) func(*Facts) {
	return func(f *Facts) {
		f.set("below.read.bytes", reads*f.value("device.read.bytes"), "below.write.bytes", writes*f.value("device.write.bytes"))
	}
}

// steals is a trial during which the host took such a share of the machine's CPUs.
func steals(share float64) func(*Facts) {
	return func(f *Facts) {
		f.Samples = &samples.Table{}
		for i := range 9 {
			row := f.Samples.Add(time.Unix(int64(i), 0), samples.Machine, "")
			f.Samples.Set(row, samples.Seconds, 0.1)
			f.Samples.Set(row, samples.CPUSteal, share)
		}
	}
}

func twoJobs(f *Facts) {
	f.Measurement.Input = "[a]\nrw=randrw\nruntime=10\ntime_based=1\n[b]\nrw=randrw\nruntime=10\ntime_based=1\n"
}

// twoDisks are below a file system that has files on either, with a limit of one of them, of which each does so many times as much.
func twoDisks(one, other float64) func(*Facts) {
	return both(writing(""), func(f *Facts) {
		f.Target.Layers = []result.Layer{
			{ID: "fs:/data", Kind: result.FilesystemLayer, Type: "btrfs", Below: []string{"sda", "sdb"}},
			{ID: "sda", Kind: result.DiskLayer, Type: "scsi", IOStats: true}, {ID: "sdb", Kind: result.DiskLayer, Type: "scsi", IOStats: true},
		}
		f.Target.FilesystemType, f.Target.Devices = "btrfs", []result.Device{{Name: "sda"}, {Name: "sdb"}}
		const seconds = 20
		f.set("device.seconds", float64(seconds), "device.write.bytes", f.value("write.bytes"), "write.bandwidth", f.value("write.bytes")/seconds)
		limit := f.value("write.bandwidth") / (one + other)
		f.set("limit.write.bytes", limit)
		f.Samples = &samples.Table{}
		for i := range seconds {
			at := time.Unix(int64(i), 0)
			f.Samples.Set(f.Samples.Add(at, samples.Machine, ""), samples.Seconds, 1)
			for name, share := range map[string]float64{"sda": one, "sdb": other} {
				row := f.Samples.Add(at, samples.Disk, name)
				f.Samples.Set(row, samples.Seconds, 1)
				f.Samples.Set(row, samples.WriteBytes, share*limit)
			}
		}
	})
}

// A limit that one disk of two has for a part of the time is told by that disk.
func TestALimitOfOneDiskThatChangesIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		others float64 // of the limit
		seen   bool
	}{"the other one is idle": {0, true}, "the other one does more": {50, true}} {
		f := world{writes: gib, copies: 1, direct: true, seconds: 20}.facts()
		twoDisks(1, c.others)(&f)
		limit := f.value("limit.write.bytes")
		delete(f.Measurement.Metrics, "limit.write.bytes")
		for row, scope := range f.Samples.Scope {
			early := f.Samples.At[row].Unix() < 10
			switch {
			case scope == samples.Machine && early:
				f.Samples.Set(row, samples.LimitWriteBytes, limit)
			case scope == samples.Disk && f.Samples.Name[row] == "sda" && !early:
				f.Samples.Set(row, samples.WriteBytes, 3*limit)
			}
		}
		if v := limitChanged(&f); (len(v) == 1) != c.seen {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// Holes of one job's files are the job's, and do not acquit another one of memory.
func TestHolesOfOneJobAreTold(t *testing.T) {
	disk := jobOfWorld{operation: "read", bytes: 1 << 30, direct: true}
	for name, c := range map[string]struct {
		job    jobOfWorld
		thin   float64
		wanted map[string]result.Effect
	}{
		"direct reads of holes":              {jobOfWorld{operation: "read", bytes: 64 << 20, memory: 1, direct: true}, 0.06, map[string]result.Effect{ThinReads: result.Qualifies}},
		"the page cache, and holes of files": {jobOfWorld{operation: "read", bytes: 64 << 20, memory: 1}, 0.02, map[string]result.Effect{FromMemory: result.Invalidates, ThinReads: result.Qualifies}},
		"the page cache":                     {jobOfWorld{operation: "read", bytes: 64 << 20, memory: 1}, 0, map[string]result.Effect{FromMemory: result.Invalidates}},
		"direct reads that memory answered":  {jobOfWorld{operation: "read", bytes: 64 << 20, memory: 1, direct: true}, 0, map[string]result.Effect{FromMemory: result.Qualifies}},
		"none":                               {jobOfWorld{operation: "read", bytes: 64 << 20, direct: true}, 0.06, map[string]result.Effect{}},
	} {
		f := jobsOf(disk, c.job)
		f.set("files.thin", c.thin)
		got := map[string]result.Effect{}
		for _, v := range Judge(f) {
			if got[v.Name] = v.Effect; v.OnRow("job-0") {
				t.Errorf("%s: of the other job: %+v", name, v)
			}
		}
		if !maps.Equal(got, c.wanted) {
			t.Errorf("%s: %v, want %v", name, got, c.wanted)
		}
	}
}

// A job whose sync never comes has no alibi, and the others no blame for it.
func TestASyncThatNeverComesIsNoAlibi(t *testing.T) {
	never := jobOfWorld{operation: "write", bytes: 20 << 20, memory: 1, text: "fsync=1000000\n", metrics: map[string]float64{"write.ios": 5120}}
	if v := Judge(jobsOf(never, jobOfWorld{operation: "write", bytes: 1 << 30, direct: true})); effectOn(v, FromMemory, "job-0") != result.Invalidates || effectOn(v, FromMemory, "job-1") != "" {
		t.Errorf("beside direct I/O: %+v", v)
	}
	never.text = strings.Replace(never.text, "1000000", "16", 1)
	never.memory = 0
	if v := Judge(jobsOf(never, jobOfWorld{operation: "write", bytes: 1 << 30, memory: 0.3})); effectOn(v, FromMemory, "job-0") != "" || effectOn(v, FromMemory, "job-1") != result.Qualifies {
		t.Errorf("one whose sync comes: %+v", v)
	}
}

// A workload that pauses by itself stalls only if an operation waited.
func TestAPauseIsNoStall(t *testing.T) {
	for name, c := range map[string]struct {
		slowest float64
		seen    bool
	}{"thinktime": {0.002, false}, "the storage": {0.98, true}, "nobody knows": {0, true}} {
		f := reads("[j]\nrw=randread\nruntime=20\ntime_based=1\nthinktime=1s\nthinktime_blocks=20000\n", went("read", 20, 1, func(i int) float64 {
			if i%5 == 4 {
				return 0
			}
			return 5000
		}))
		if c.slowest > 0 {
			f.set("read.latency.max", c.slowest)
		}
		if v := notSteady(&f); (len(v) > 0) != c.seen {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// Jobs that run at once share the links of the disks: each may be below what these carry, and all of them above.
func TestJobsAtOnceShareTheLinks(t *testing.T) {
	for name, c := range map[string]struct {
		more   string
		carry  float64
		wanted result.Effect
	}{
		"above": {"", 80 << 20, result.Invalidates}, "below": {"", 130 << 20, ""}, "one after the other": {"stonewall=1\n", 80 << 20, ""},
	} {
		job := jobOfWorld{operation: "read", bytes: 60 << 20, direct: true, text: "runtime=1\ntime_based=1\n"}
		f := jobsOf(job, job)
		f.Measurement.Input = strings.ReplaceAll(f.Measurement.Input, "stonewall=1\n", c.more)
		f.Target.Layers[1].LinkBytesPerSecond = c.carry
		f.set("read.bandwidth", float64(120<<20))
		v := Judge(f)
		for _, row := range []string{"job-0", "job-1"} {
			if got := effectOn(v, ImpossibleUncached, row); got != c.wanted {
				t.Errorf("%s: %s: %q, want %q", name, row, got, c.wanted)
			}
		}
	}
}
