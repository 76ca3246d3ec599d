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
	// hits and misses of reads of data in the ARC. iohits are reads of what the disks were reading already, which
	// ZFS counts since 2.2; before, it counts them nowhere.
	hits, misses, iohits uint64
	// prefetched are hits of what was read ahead, the first of each block. ZFS counts metadata among them, of
	// which there is little.
	prefetched uint64
	// commits of the intent log that were asked for; none are counted for a dataset with
	// sync=disabled.
	commits uint64
	// noFlush reports that ZFS does not flush the disks' caches (zfs_nocacheflush).
	noFlush bool
}

// Names in arcstats.
const (
	arcHits, arcMisses, arcIOHits = "demand_data_hits", "demand_data_misses", "demand_data_iohits"
	arcPredicted, arcPrescient    = "demand_hit_predictive_prefetch", "demand_hit_prescient_prefetch"
)

// ofARC returns how many reads the ARC answered with what it had before, and for how many the disks read:
// at once, or ahead, as ZFS does for sequential reads. For each of those they read a block, too.
func ofARC(hits, misses, iohits, prefetched float64) (had, read float64) {
	prefetched = min(prefetched, hits)
	return hits - prefetched, misses + iohits + prefetched
}

// readZFS reads ZFS's counters. The pool, if its name is known, only has to exist.
func readZFS(root, pool string) zfsCounters {
	arc := kstat(read(root, "proc/spl/kstat/zfs/arcstats"))
	zil := kstat(read(root, "proc/spl/kstat/zfs/zil"))
	c := zfsCounters{
		known: len(arc) > 0 && len(zil) > 0, commits: zil["zil_commit_count"],
		hits: arc[arcHits], misses: arc[arcMisses], iohits: arc[arcIOHits], prefetched: arc[arcPredicted] + arc[arcPrescient],
	}
	c.noFlush = strings.TrimSpace(read(root, "sys/module/zfs/parameters/zfs_nocacheflush")) == "1"
	if pool != "" && read(root, filepath.Join("proc/spl/kstat/zfs", pool, "state")) == "" {
		c.known = false
	}
	return c
}

// since sets the metrics of what was counted after earlier.
func (c zfsCounters) since(earlier zfsCounters, m result.Metrics) {
	if !c.known || !earlier.known || c.hits < earlier.hits || c.misses < earlier.misses || c.iohits < earlier.iohits || c.prefetched < earlier.prefetched || c.commits < earlier.commits {
		return
	}
	had, read := ofARC(float64(c.hits-earlier.hits), float64(c.misses-earlier.misses), float64(c.iohits-earlier.iohits), float64(c.prefetched-earlier.prefetched))
	m.Set("zfs.arc.hits", result.Count, had)
	m.Set("zfs.arc.misses", result.Count, read)
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
