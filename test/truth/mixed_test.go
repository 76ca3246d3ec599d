//go:build truth

package truth

import (
	"os/exec"
	"testing"
)

// mixed are lies of one job of several, which is a small part of what all of them do.
var mixed = []kind{
	{
		name: "a job in memory after one on the disk", verdict: "FromMemory", operation: "write", invalid: true,
		lie:  other(`stonewall=1\nrw=write\nbs=1m\nsize=8m\n`),
		twin: other(`stonewall=1\nrw=write\nbs=1m\nsize=8m\ndirect=1\n`),
	},
	{
		name: "a job in memory beside one on the disk", verdict: "FromMemory", operation: "write", invalid: true,
		lie:  other(`rw=write\nbs=1m\nsize=8m\n`),
		twin: other(`rw=write\nbs=1m\nsize=8m\nend_fsync=1\n`),
	},
	{
		name: "a job in memory that is written while another one runs", verdict: "FromMemory", operation: "write", invalid: true,
		lie:  writtenLater(``),
		twin: writtenLater(`end_fsync=1\n`),
	},
	{
		name: "a job on a small file beside one on a large one", verdict: "WorkingSetTooSmall", operation: "write",
		lie:  other(`rw=randwrite\nbs=4k\nsize=256k\ndirect=1\nio_size=4m\n`),
		twin: other(`rw=randwrite\nbs=4k\nsize=16m\ndirect=1\nio_size=4m\n`),
	},
	{
		name: "small blocks of one job of two", verdict: "BlockSizeLimited", operation: "write",
		lie:  other(`stonewall=1\nrw=write\nbs=8k\nsize=8m\ndirect=1\n`),
		twin: other(`stonewall=1\nrw=write\nbs=1m\nsize=8m\ndirect=1\n`),
	},
	{
		name: "a limit of one job of two", verdict: "Throttled", operation: "write",
		lie:  limitedAfter(100),
		twin: limitedAfter(1 << 30),
	},
}

// writtenLater is a world of a job that writes to memory, and one that then reads: in its time, somebody syncs the file system.
func writtenLater(more string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		dev := disk(t)
		w := world{target: ext4(t, dev), job: "j", workload: fio(`rw=write\nbs=1m\nsize=64m\n` + more + `\n[other]\nstonewall=1\nrw=randread\nbs=16k\nsize=64m\ndirect=1\nruntime=5\n`)}
		w.meanwhile = inTheMiddle(t, dev, readsField, func() error { return exec.CommandContext(t.Context(), "sync", "-f", w.target).Run() })
		return w
	}
}

// limitedAfter is a world of a job that reads for six seconds, and one that then writes for two, so many times a second.
func limitedAfter(writes int) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		dev := disk(t)
		return world{
			target: ext4(t, dev), job: "other", cgroup: []limit{{what: "write.iops", value: writes, device: dev}},
			workload: fio(`rw=randread\nbs=64k\nsize=64m\ndirect=1\nioengine=libaio\niodepth=4\nruntime=6\n\n[other]\nstonewall=1\nrw=randwrite\nbs=4k\nsize=64m\ndirect=1\nruntime=2\n`),
		}
	}
}

// other is a world of two jobs: of the first, nothing is said.
func other(job string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		w := on(fio(`rw=randwrite\nbs=64k\nsize=128m\ndirect=1\nioengine=libaio\niodepth=4\nio_size=512m\n\n[other]\n` + job))(t)
		w.job = "other"
		return w
	}
}
