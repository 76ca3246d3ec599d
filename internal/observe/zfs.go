package observe

import (
	"path/filepath"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// zfsCounters are what ZFS has counted on this node, for all pools together.
type zfsCounters struct {
	known bool
	// hits and misses of reads of data in the ARC.
	hits, misses uint64
	// commits of the intent log that were asked for; none are counted for a dataset with
	// sync=disabled.
	commits uint64
	// noFlush reports that ZFS does not flush the disks' caches (zfs_nocacheflush).
	noFlush bool
}

// readZFS reads ZFS's counters. The pool, if its name is known, only has to exist.
func readZFS(root, pool string) zfsCounters {
	arc := kstat(read(root, "proc/spl/kstat/zfs/arcstats"))
	zil := kstat(read(root, "proc/spl/kstat/zfs/zil"))
	c := zfsCounters{known: len(arc) > 0 && len(zil) > 0, hits: arc["demand_data_hits"], misses: arc["demand_data_misses"], commits: zil["zil_commit_count"]}
	c.noFlush = strings.TrimSpace(read(root, "sys/module/zfs/parameters/zfs_nocacheflush")) == "1"
	if pool != "" && read(root, filepath.Join("proc/spl/kstat/zfs", pool, "state")) == "" {
		c.known = false
	}
	return c
}

// since sets the metrics of what was counted after earlier.
func (c zfsCounters) since(earlier zfsCounters, m result.Metrics) {
	if !c.known || !earlier.known || c.hits < earlier.hits || c.misses < earlier.misses || c.commits < earlier.commits {
		return
	}
	m.Set("zfs.arc.hits", result.Count, float64(c.hits-earlier.hits))
	m.Set("zfs.arc.misses", result.Count, float64(c.misses-earlier.misses))
	m.Set("zfs.zil.commits", result.Count, float64(c.commits-earlier.commits))
	if c.noFlush {
		m.Set("zfs.nocacheflush", result.Count, 1)
	}
}

// kstat reads lines of a name, a type and a number.
func kstat(text string) map[string]uint64 {
	out := map[string]uint64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 3 {
			if n, err := strconv.ParseUint(fields[2], 10, 64); err == nil {
				out[fields[0]] = n
			}
		}
	}
	return out
}
