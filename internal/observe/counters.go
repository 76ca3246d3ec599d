package observe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// sector is the unit of the counters in bytes, whatever the disk's sector size.
const sector = 512

// Fields of /sys/block/<disk>/stat, counted from 0.
const (
	readIOs, readMerges, readSectors, readTicks     = 0, 1, 2, 3
	writeIOs, writeMerges, writeSectors, writeTicks = 4, 5, 6, 7
	inFlight, busyTicks, weightedTicks              = 8, 9, 10
	discardIOs, discardSectors, discardTicks        = 11, 13, 14 // Linux 4.18 and later
	flushIOs, flushTicks                            = 15, 16     // Linux 5.5 and later
	fields                                          = 17
)

// ticks are the fields of milliseconds. The kernel prints their last 32 bits only: at a depth of 256 they
// begin anew every few hours.
var ticks = [fields]bool{readTicks: true, writeTicks: true, busyTicks: true, weightedTicks: true, discardTicks: true, flushTicks: true}

// ticked is how far ticks went.
func ticked(from, to uint64) uint64 { return uint64(uint32(to - from)) }

// back reports whether a field went backwards that only goes up: another disk has the name.
func back(field int, from, to uint64) bool { return to < from && field != inFlight && !ticks[field] }

// Disks are the leaf disks of a target.
type Disks struct {
	// Root is / or, in tests, a directory with a sysfs tree.
	Root string
	// Names of the disks in /sys/block.
	Names []string
}

// Counters are the disks' counters at one moment.
type Counters struct{ disks []diskCounters }

type diskCounters struct {
	name  string
	count [fields]uint64
	// kept are those that the kernel keeps; none: the disk is not there.
	kept kept
	// silent reports that the disk has done nothing since it is there, which cannot be true of one that
	// is in use: its driver counts nothing.
	silent bool
}

// Read reads the counters. Ticks are milliseconds.
func (d Disks) Read() (Counters, error) {
	var c Counters
	var unread error
	for _, name := range d.Names {
		one, err := d.read(name)
		c.disks, unread = append(c.disks, one), errors.Join(unread, err)
	}
	return c, unread
}

func (d Disks) read(name string) (c diskCounters, err error) {
	c.name = name
	path := filepath.Join("/", d.Root, "sys/block", name, "stat")
	content, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("observe: %w", err)
	}
	words := strings.Fields(string(content))
	for i := range min(len(words), fields) {
		if c.count[i], err = strconv.ParseUint(words[i], 10, 64); err != nil {
			return c, fmt.Errorf("observe: %s: %w", path, err)
		}
	}
	c.kept, c.silent = keptOf(d.Root, name, len(words)), c.count == [fields]uint64{}
	return c, nil
}

// Metrics returns what the disks did between c and later, which was read so many
// seconds after c. What the kernel does not count is absent, and so is an await if there was no I/O
// of its kind.
func (c Counters) Metrics(later Counters, seconds float64) result.Metrics {
	m := result.Metrics{}
	operation := func(name string, ios, sectors, ticks int) {
		n, ok := c.delta(later, ios)
		if !ok {
			return
		}
		m.Set("device."+name+".count", result.Count, n)
		if sectors >= 0 {
			set(m, "device."+name+".bytes", result.Bytes, sector, c, later, sectors)
		}
		if n > 0 {
			set(m, "device."+name+".await", result.Seconds, 1/(1e3*n), c, later, ticks)
		}
	}
	operation("read", readIOs, readSectors, readTicks)
	operation("write", writeIOs, writeSectors, writeTicks)
	operation("flush", flushIOs, -1, flushTicks)
	if seconds > 0 {
		set(m, "device.queue.depth", result.Count, 1/(1e3*seconds), c, later, weightedTicks)
	}
	return m
}

// set sets a metric to how far a counter went, in another unit, if the kernel keeps it.
func set(m result.Metrics, name, unit string, scale float64, from, to Counters, i int) {
	if n, ok := from.delta(to, i); ok {
		m.Set(name, unit, n*scale)
	}
}

// delta is how far a counter of all disks went until later, if it is known of each of them.
func (c Counters) delta(later Counters, i int) (n float64, ok bool) {
	if len(c.disks) != len(later.disks) {
		return 0, false
	}
	for k, from := range c.disks {
		one, ok := from.delta(later.disks[k], i)
		if !ok {
			return 0, false
		}
		n += float64(one)
	}
	return n, true
}

// delta is how far a counter went until later, if the kernel kept it at both moments, and of the same disk.
func (c diskCounters) delta(later diskCounters, i int) (n uint64, ok bool) {
	if !c.kept[i] || !later.kept[i] || later.silent {
		return 0, false
	}
	for field, from := range c.count {
		if back(field, from, later.count[field]) {
			return 0, false
		}
	}
	if later.count[i] < c.count[i] {
		return ticked(c.count[i], later.count[i]), true
	}
	return later.count[i] - c.count[i], true
}
