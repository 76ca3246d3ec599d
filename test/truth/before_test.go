//go:build truth

package truth

import "testing"

// before are lies of what a workload did before the part that it measures. The disks are counted all the time.
var before = []kind{
	{
		name: "a ramp that fills memory", verdict: "FromMemory", operation: "read", invalid: true, timed: true,
		lie:  on(fio(randomRead + again + `ramp_time=2\n`)),
		twin: on(fio(randomRead + direct + `ramp_time=2\n`)),
	},
	{
		name: "a second reader beside files that are laid out in each trial", verdict: "NoisyNeighbour", operation: "read", timed: true,
		lie:  layingOut(true),
		twin: layingOut(false),
	},
	{
		name: "a device that is read into memory first", verdict: "FromMemory", operation: "read", invalid: true,
		lie:  raw(fio(`rw=read\nbs=64k\nsize=128m\npre_read=1\n`)),
		twin: raw(fio(`rw=read\nbs=64k\nsize=128m\n`)),
	},
	{
		name: "a reader that makes up for what memory answers", verdict: "FromMemory", operation: "read", invalid: true, timed: true,
		lie:  crowded(again),
		twin: crowded(direct),
	},
	{
		name: "trims of what is trimmed already", verdict: "ThinTrims", operation: "trim",
		lie:  trimmed(`rw=randtrim\nbs=64k\nsize=64m\nruntime=3\n` + direct),
		twin: trimmed(`rw=trimwrite\nbs=64k\nsize=64m\nend_fsync=1\n`), // fio ignores direct=1 with it
	},
}

// crowded is a world that reads 16 MiB again and again, slowly enough that another process reads more of the same disk.
func crowded(more string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		w := beside(true, reads)(t)
		w.workload = fio(`rw=randread\nbs=16k\nsize=16m\nruntime=6\ntime_based=1\nrate=64m\n` + more)
		w.deserved = []string{"NoisyNeighbour", "BackgroundIO"} // it is there before the trial, too
		return w
	}
}

// trimmed is a world of two trials on a raw device.
func trimmed(job string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		w := raw(fio(job))(t)
		w.trials = 2
		return w
	}
}

// layingOut is a world whose files fio writes in each trial before it reads them. Somebody else reads the same disk, or one
// in memory.
func layingOut(same bool) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		w := beside(same, reads)(t)
		w.workload = fio(`rw=randread\nbs=16k\nsize=256m\nruntime=2\nunlink=1\n` + direct)
		return w
	}
}
