package workload

import (
	"fmt"
	"strings"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/result"
)

// Machine is what a machine knows of the caches in the path of a target.
type Machine struct {
	// Memory of the machine, and the limit of the worker's cgroup; 0: unknown, or none.
	Memory uint64 `json:"memory,omitempty"`
	Limit  uint64 `json:"limit,omitempty"`
	// ARC is the most that ZFS caches, if the target is on ZFS.
	ARC uint64 `json:"arc,omitempty"`
	// CPUs that fio counts, which is all that are online; 0: unknown.
	CPUs int `json:"cpus,omitempty"`
	// Below is what becomes of direct I/O below the target, and Why, if it meets a page cache.
	Below result.DirectMode `json:"below,omitempty"`
	Why   string            `json:"why,omitempty"`
}

// MachineOf returns what decides on sizes of the environment of a worker.
func MachineOf(e *result.Environment) Machine {
	if e == nil {
		return Machine{}
	}
	m := Machine{Memory: e.Memory.TotalBytes, Limit: e.Memory.LimitBytes, CPUs: e.CPU.Count}
	m.Below, m.Why = device.DirectBelow(e.Target.Layers)
	zfs := e.Target.FilesystemType == "zfs"
	for _, l := range e.Target.Layers {
		zfs = zfs || strings.HasPrefix(l.Type, "zfs")
	}
	if zfs {
		m.ARC = e.Memory.ARCBytes
		if m.ARC == 0 {
			m.ARC = m.Memory / 2 // what ZFS on Linux takes unless it is told otherwise
		}
	}
	return m
}

// pageCache is how much of a target the page cache can hold for this worker.
func (m Machine) pageCache() uint64 {
	if m.Limit > 0 && m.Limit < m.Memory || m.Memory == 0 {
		return m.Limit
	}
	return m.Memory
}

// SizeFacts are what the size of a workload that gives none is chosen from.
type SizeFacts struct {
	Machine
	// Buffered reports that the workload's reads may be answered by the page cache.
	Buffered bool
	// Room is what the target has free, Parts how many files share it, each with a size that is a
	// multiple of Unit.
	Room, Parts, Unit uint64
	// Floor is the size of each part if no cache asks for more.
	Floor uint64
}

const (
	// mostChosen bounds what is chosen, for all parts together. It is written within minutes, not
	// hours: 11 minutes at 100 MiB/s.
	mostChosen = 64 << 30
	// timesCache is how much more than the caches there must be, so that at most half of what is
	// read at random can come from them.
	timesCache = 2
)

// Size chooses the size of each part of a workload, or less than Unit if the target has too little
// room. It is pure.
func Size(f SizeFacts) result.SizeChoice {
	parts, unit := max(f.Parts, 1), max(f.Unit, 1)
	cache, what := f.caches()
	want, why := Product(f.Floor, parts), "the default; no cache of this machine is in the path"
	if f.Below == result.DirectUnknown && cache == 0 {
		why = "the default; it is not known which caches are in the path"
	}
	if need := Product(cache, timesCache); need > want || want == 0 && cache > 0 {
		want, why = need, fmt.Sprintf("twice what %s can hold (%s)", what, Human(cache))
	} else if cache > 0 {
		why = fmt.Sprintf("the default, more than twice what %s can hold (%s)", what, Human(cache))
	}
	total := want
	if most := max(uint64(mostChosen), Product(f.Floor, parts)); want > most || want == 0 {
		total, why = most, fmt.Sprintf("%s, but not more than %s, which would take too long to write", why, Human(most))
	}
	if room := f.Room / 10 * 8; total > room {
		total, why = room, fmt.Sprintf("80 %% of the %s that are free, less than the %s wanted: %s", Human(f.Room), Human(want), why)
	}
	each := total / parts
	if each > 1<<20 {
		each = each >> 20 << 20
	}
	each -= each % unit
	// Rounding is not what makes a size too small.
	short := cache > 0 && Sum(Product(Sum(each, unit, 1<<20), parts)) < Product(cache, timesCache)
	return result.SizeChoice{Bytes: each, Parts: parts, CacheBytes: cache, TooSmall: short, Why: why}
}

// caches in the path: how much they hold, and what they are called.
func (f SizeFacts) caches() (uint64, string) {
	var sum uint64
	var names []string
	switch {
	case f.Below == result.CachedAnyway: // whose cgroup pays for that is not known
		sum, names = f.Memory, append(names, "the page cache below the target")
	case f.Buffered && f.ARC == 0: // ZFS has no pages in the page cache
		sum = f.pageCache()
		names = append(names, "the page cache")
		if f.Limit > 0 && sum == f.Limit {
			names[0] += " within the memory limit"
		}
	}
	if f.ARC > 0 {
		sum, names = Sum(sum, f.ARC), append(names, "the ARC of ZFS")
	}
	return sum, strings.Join(names, " and ")
}
