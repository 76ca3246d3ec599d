//go:build truth

package truth

import (
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// fresh writes a workload of one job whose files are not there before it.
func fresh(job string) string { return `fio: {files: Fresh, jobFile: "[j]\n` + job + `"}` }

// smallBlocks are direct writes of less than a block of the file system.
const smallBlocks = `rw=randwrite\nbs=512\nsize=16m\nioengine=libaio\niodepth=8\ndirect=1\nruntime=3\ntime_based=1\n`

// rarely are lies of what is asked for and hardly ever done, and of what a workload does itself without being asked.
var rarely = []kind{
	{
		name: "a small file that is synced at the end", verdict: "WorkingSetTooSmall", operation: "write",
		lie:  on(fio(`rw=randwrite\nbs=4k\nsize=1m\ndirect=1\nioengine=libaio\niodepth=8\nruntime=3\ntime_based=1\nend_fsync=1\n`)),
		twin: on(fio(`rw=randwrite\nbs=4k\nsize=1m\ndirect=1\nioengine=libaio\niodepth=8\nruntime=3\ntime_based=1\nfsync=8\n`)),
	},
	{
		name: "a sync that never comes", verdict: "FromMemory", operation: "write", invalid: true,
		lie:  on(fio(`rw=write\nbs=64k\nsize=128m\nfsync=1000000\n`)),
		twin: on(fio(`rw=write\nbs=64k\nsize=128m\nfsync=64\n`)),
	},
	{
		name: "a neighbour of a job that would sync if it wrote", verdict: "NoisyNeighbour", operation: "", timed: true,
		lie:  neighboured(fio(randomRead+direct+`fsync=1\n`), flushes),
		twin: neighboured(fio(randomRead+direct+`fsync=1\n`), elsewhere(flushes)),
	},
	{
		name: "a file system that syncs without barriers", verdict: "UnsafeConfiguration", operation: "write", invalid: true,
		lie:  made("ext4", "sync,barrier=0", fio(`rw=randwrite\nbs=4k\nsize=16m\ndirect=1\n`)),
		twin: made("ext4", "sync", fio(`rw=randwrite\nbs=4k\nsize=16m\ndirect=1\n`)),
	},
	{
		name: "a neighbour that writes in small blocks", verdict: "NoisyNeighbour", operation: "",
		lie: func(t *testing.T) world {
			t.Helper()
			w := beside(true, writes)(t)
			w.workload = fio(smallBlocks)
			return w
		},
		twin: on(fresh(smallBlocks)),
	},
	{
		name: "a pause of a second", verdict: "NotSteady", operation: "write", timed: true,
		lie:  frozen(true),
		twin: on(fio(`rw=randwrite\nbs=16k\nsize=64m\nruntime=14\ntime_based=1\noverwrite=1\nthinktime=1200ms\nthinktime_blocks=4000\n` + direct)),
	},
	{
		name: "a limit of reads, beside the writes of a mixture", verdict: "Throttled", operation: "write",
		lie:  throttled(fio(`rw=randrw\nbs=16k\nsize=64m\nruntime=3\ntime_based=1\noverwrite=1\n`+direct), "read", 4<<20),
		twin: throttled(fio(`rw=randrw\nbs=16k\nsize=64m\nruntime=3\ntime_based=1\noverwrite=1\n`+direct), "read", 64<<30),
	},
	{
		name: "small blocks that nobody reads ahead", verdict: "BlockSizeLimited", operation: "read",
		lie: readAhead("0"),
		twin: func(t *testing.T) world {
			t.Helper()
			w := readAhead("256")(t)
			w.deserved = []string{"CPUBound"} // what fio does between two blocks that are in memory by then is a share of the time
			return w
		},
	},
	{
		name: "a limit of the one disk of two that has the file", verdict: "Throttled", operation: "write",
		lie:  oneOfTwo(8 << 20),
		twin: oneOfTwo(64 << 30),
	},
	{
		name: "a disk that is not counted for a moment", verdict: "NoDeviceEvidence", operation: "", never: []string{"FromMemory"}, timed: true,
		lie:  switched("0", "1"),
		twin: switched("1", "1"),
	},
	{
		name: "a neighbour below the loop device", verdict: "NoisyNeighbour", operation: "", timed: true,
		lie:  underneath(true),
		twin: underneath(false),
	},
}

// oneOfTwo is a world on a btrfs that has each file on either of two disks, which have a limit each.
func oneOfTwo(rate int) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		var other string
		w := spread("single", func(t *testing.T) string { t.Helper(); other = disk(t); return other }, fio(`rw=randwrite\nbs=16k\nsize=32m\nruntime=8\ntime_based=1\noverwrite=1\n`+direct))(t)
		device := devicetest.Run(t, "findmnt", "--noheadings", "--output", "SOURCE", w.target)
		w.cgroup = []limit{{what: "write", value: rate, device: device}, {what: "write", value: rate, device: other}}
		return w
	}
}

// readAhead is a world that reads a file from its beginning to its end, of which the kernel reads so many sectors ahead.
func readAhead(sectors string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		devicetest.Run(t, "blockdev", "--setra", sectors, device)
		return world{target: ext4(t, device), workload: fio(`rw=read\nbs=4k\nsize=256m\n`)}
	}
}

// underneath is a world on a loop device with whose file somebody else has another one on the same file system, and reads it all the
// time, or one in memory.
func underneath(same bool) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		lower := ext4(t, disk(t))
		w := beside(false, reads)(t)
		w.target = ext4(t, devicetest.Attach(t, file(t, lower, 256<<20), "--direct-io=on"))
		if same {
			devicetest.Run(t, "dd", "if=/dev/urandom", "of="+lower+"/other", "bs=1M", "count=64", "oflag=direct", "status=none")
			w.meanwhile = reader(lower + "/other")
		}
		return w
	}
}
