package observe

import (
	"time"

	"storagebench.io/storagebench/internal/result"
)

// Watch says what is read at a moment.
type Watch struct {
	// Root is / or, in tests, a directory with procfs and sysfs trees.
	Root string
	// Target are the leaf disks of the target, as names in /sys/block, or the layers above that count
	// in the place of disks that do not.
	Target []string
	// Uncounted are those disks. Only their limits are read.
	Uncounted []string
	// Above are mapped devices that all I/O of the target passes. Only their limits are read.
	Above []string
	// Below are the leaf disks below the target's loop devices.
	Below []string
	// Others are all other disks of the machine. They are watched if the file of one of the
	// target's loop devices is out of sight: it is on one of them, or in memory.
	Others []string
	// ZFS is in the target's layers: its counters are read, which are those of all pools together.
	ZFS bool
	// Pool is the name of the target's pool; empty: there is none, or a volume does not tell it, as without the
	// privilege to ask its device.
	Pool string
}

// Moment is what the kernel had counted at a moment.
type Moment struct {
	At time.Time
	// target, below and others are the counters of the disks in Watch.
	target, below, others Counters
	// throttled is for how long the CPU quota of this process's cgroups has stopped it.
	throttled time.Duration
	zfs       zfsCounters
	// Err says why the target's disks could not be read.
	Err error
}

// Read reads everything that w names.
func (w Watch) Read(now time.Time) Moment {
	m := Moment{At: now}
	m.target, m.Err = Disks{Root: w.Root, Names: w.Target}.Read()
	// What is below a target, and ZFS, only adds to what is known of it.
	m.below, _ = Disks{Root: w.Root, Names: w.Below}.Read()
	m.others, _ = Disks{Root: w.Root, Names: w.Others}.Read()
	m.throttled = throttled(w.Root)
	if w.ZFS {
		m.zfs = readZFS(w.Root, w.Pool)
	}
	return m
}

// Trial returns what happened between the moments of a trial: before it, at its end, and when
// all that it had left in memory was written.
func (w Watch) Trial(before, end, drained Moment) result.Metrics {
	m := result.Metrics{}
	seconds := end.At.Sub(before.At).Seconds()
	if len(w.Target) > 0 && before.Err == nil && end.Err == nil {
		m = before.target.Metrics(end.target, seconds)
		m.Set("device.seconds", result.Seconds, seconds)
		if drained.Err == nil {
			set(m, "device.drain.bytes", result.Bytes, sector, end.target, drained.target, writeSectors)
		}
	}
	for _, group := range []struct {
		name                   string
		disks                  []string
		before, ended, drained Counters
	}{
		{"below", w.Below, before.below, end.below, drained.below},
		{"others", w.Others, before.others, end.others, drained.others},
	} {
		if len(group.disks) == 0 {
			continue
		}
		set(m, group.name+".read.bytes", result.Bytes, sector, group.before, group.ended, readSectors)
		set(m, group.name+".write.bytes", result.Bytes, sector, group.before, group.ended, writeSectors)
		set(m, group.name+".drain.bytes", result.Bytes, sector, group.ended, group.drained, writeSectors)
	}
	if seconds > 0 {
		m.Set("cpu.throttled", result.Ratio, max(0, end.throttled-before.throttled).Seconds()/seconds)
	}
	end.zfs.since(before.zfs, m)
	return m
}

// Idle returns what the target's disks did between two moments in which no workload ran.
func (w Watch) Idle(from, to Moment) result.Metrics {
	m := result.Metrics{}
	seconds := to.At.Sub(from.At).Seconds()
	if len(w.Target) == 0 || from.Err != nil || to.Err != nil || seconds <= 0 {
		return m
	}
	set(m, "background.read.bytes", result.BytesPerSecond, sector/seconds, from.target, to.target, readSectors)
	set(m, "background.write.bytes", result.BytesPerSecond, sector/seconds, from.target, to.target, writeSectors)
	return m
}

// Busy reports whether the target's disks did anything between two moments, as far as the kernel
// counts it.
func (w Watch) Busy(from, to Moment) bool {
	reads, _ := from.target.delta(to.target, readSectors)
	writes, _ := from.target.delta(to.target, writeSectors)
	return reads+writes > 0
}
