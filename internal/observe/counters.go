package observe

import (
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
	inFlight, weightedTicks                         = 8, 10
	discardIOs, discardSectors                      = 11, 13 // Linux 4.18 and later
	flushIOs, flushTicks                            = 15, 16 // Linux 5.5 and later
	fields                                          = 17
)

// Disks are the leaf disks of a target.
type Disks struct {
	// Root is / or, in tests, a directory with a sysfs tree.
	Root string
	// Names of the disks in /sys/block.
	Names []string
}

// Counters are the sums of the disks' counters at one moment.
type Counters struct {
	sum [fields]uint64
	// kept are those that the kernel keeps of each of the disks.
	kept kept
	// silent reports that a disk has done nothing since it is there, which cannot be true of one that
	// is in use: its driver counts nothing.
	silent bool
}

// Read reads the counters. Ticks are milliseconds.
func (d Disks) Read() (Counters, error) {
	var c Counters
	for i := range c.kept {
		c.kept[i] = true
	}
	for _, name := range d.Names {
		path := filepath.Join("/", d.Root, "sys/block", name, "stat")
		content, err := os.ReadFile(path)
		if err != nil {
			return c, fmt.Errorf("observe: %w", err)
		}
		words, all := strings.Fields(string(content)), uint64(0)
		for i := range min(len(words), fields) {
			n, err := strconv.ParseUint(words[i], 10, 64)
			if err != nil {
				return c, fmt.Errorf("observe: %s: %w", path, err)
			}
			c.sum[i] += n
			all |= n
		}
		for i, k := range keptOf(d.Root, name, len(words)) {
			c.kept[i] = c.kept[i] && k
		}
		c.silent = c.silent || all == 0
	}
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

// delta is how far a counter went until later, if the kernel kept it at both moments. It went
// backwards if the disk was replaced by another one; that counts as nothing.
func (c Counters) delta(later Counters, i int) (n float64, ok bool) {
	if !c.kept[i] || !later.kept[i] || later.silent {
		return 0, false
	}
	if later.sum[i] < c.sum[i] {
		return 0, true
	}
	return float64(later.sum[i] - c.sum[i]), true
}
