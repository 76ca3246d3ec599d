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
type Counters [fields]uint64

// Read reads the counters. Ticks are milliseconds.
func (d Disks) Read() (Counters, error) {
	var sum Counters
	for _, name := range d.Names {
		path := filepath.Join("/", d.Root, "sys/block", name, "stat")
		content, err := os.ReadFile(path)
		if err != nil {
			return sum, fmt.Errorf("observe: %w", err)
		}
		words := strings.Fields(string(content))
		for i := range min(len(words), fields) {
			n, err := strconv.ParseUint(words[i], 10, 64)
			if err != nil {
				return sum, fmt.Errorf("observe: %s: %w", path, err)
			}
			sum[i] += n
		}
	}
	return sum, nil
}

// Metrics returns what the disks did between c and later, which was read so many
// seconds after c. An await is absent if there was no I/O of its kind.
func (c Counters) Metrics(later Counters, seconds float64) result.Metrics {
	delta := func(i int) float64 { return c.delta(later, i) }
	m := result.Metrics{}
	operation := func(name string, ios, sectors, ticks int) {
		m.Set("device."+name+".count", result.Count, delta(ios))
		if sectors >= 0 {
			m.Set("device."+name+".bytes", result.Bytes, delta(sectors)*sector)
		}
		if delta(ios) > 0 {
			m.Set("device."+name+".await", result.Seconds, delta(ticks)/1e3/delta(ios))
		}
	}
	operation("read", readIOs, readSectors, readTicks)
	operation("write", writeIOs, writeSectors, writeTicks)
	operation("flush", flushIOs, -1, flushTicks)
	if seconds > 0 {
		m.Set("device.queue.depth", result.Count, delta(weightedTicks)/1e3/seconds)
	}
	return m
}

// delta is how far a counter went until later. It went backwards if the disk was replaced by
// another one; that counts as nothing.
func (c Counters) delta(later Counters, i int) float64 {
	if later[i] < c[i] {
		return 0
	}
	return float64(later[i] - c[i])
}
