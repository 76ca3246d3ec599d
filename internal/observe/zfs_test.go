package observe

import (
	"fmt"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// arc is the head and some lines of arcstats.
func arc(hits, misses int) string {
	return fmt.Sprintf("13 1 0x01 147 39984 1 2\nname type data\nhits 4 1\ndemand_data_hits 4 %d\ndemand_data_misses 4 %d\n", hits, misses)
}

func zfsTree(t *testing.T, hits, misses, commits int, noFlush string) string {
	t.Helper()
	return tree(t, map[string]string{
		"proc/spl/kstat/zfs/tank/state":              "ONLINE\n",
		"proc/spl/kstat/zfs/arcstats":                arc(hits, misses),
		"proc/spl/kstat/zfs/zil":                     fmt.Sprintf("name type data\nzil_commit_count 4 %d\n", commits),
		"sys/module/zfs/parameters/zfs_nocacheflush": noFlush,
	})
}

func TestZFSCountsHitsCommitsAndWhetherItFlushes(t *testing.T) {
	before := readZFS(zfsTree(t, 10, 5, 3, "0\n"), "tank")
	for name, c := range map[string]struct {
		later zfsCounters
		want  map[string]float64
	}{
		"it flushes":        {readZFS(zfsTree(t, 110, 6, 3, "0\n"), "tank"), map[string]float64{"zfs.arc.hits": 100, "zfs.arc.misses": 1, "zfs.zil.commits": 0}},
		"it does not flush": {readZFS(zfsTree(t, 10, 5, 4, "1\n"), "tank"), map[string]float64{"zfs.arc.hits": 0, "zfs.arc.misses": 0, "zfs.zil.commits": 1, "zfs.nocacheflush": 1}},
		"another pool":      {readZFS(zfsTree(t, 110, 6, 3, "0\n"), "other"), nil},
		"no ZFS":            {readZFS(t.TempDir(), "tank"), nil},
		"hits went back":    {readZFS(zfsTree(t, 9, 6, 3, "0\n"), "tank"), nil},
		"misses went back":  {readZFS(zfsTree(t, 11, 4, 3, "0\n"), "tank"), nil},
		"commits went back": {readZFS(zfsTree(t, 11, 6, 2, "0\n"), "tank"), nil},
	} {
		m := result.Metrics{}
		c.later.since(before, m)
		differ(t, name, m, c.want)
	}
	m := result.Metrics{}
	readZFS(zfsTree(t, 1, 1, 1, "0\n"), "tank").since(zfsCounters{}, m)
	differ(t, "nothing was known before", m, nil)
}

// Reads in order are read ahead: the disks read each block, though most of the reads find it in the ARC.
func TestWhatZFSReadsAheadIsNoHit(t *testing.T) {
	read := func(hits, misses, iohits, predicted, prescient int) zfsCounters {
		root := zfsTree(t, hits, misses, 0, "0\n")
		put(t, root, map[string]string{"proc/spl/kstat/zfs/arcstats": arc(hits, misses) + fmt.Sprintf(
			"demand_data_iohits 4 %d\npredictive_prefetch 4 99\ndemand_hit_predictive_prefetch 4 %d\ndemand_hit_prescient_prefetch 4 %d\n", iohits, predicted, prescient)})
		return readZFS(root, "tank")
	}
	before := read(10, 5, 3, 7, 2)
	for name, c := range map[string]struct {
		later        zfsCounters
		hits, misses float64
	}{
		"all of it":               {read(1010, 6, 13, 1007, 2), 0, 1011},
		"by a hint":               {read(110, 5, 3, 7, 102), 0, 100},
		"some of it":              {read(110, 5, 3, 47, 2), 60, 40},
		"none":                    {read(110, 5, 3, 7, 2), 100, 0},
		"metadata is counted too": {read(110, 5, 3, 110, 2), 0, 100},
	} {
		m := result.Metrics{}
		c.later.since(before, m)
		differ(t, name, m, map[string]float64{"zfs.arc.hits": c.hits, "zfs.arc.misses": c.misses, "zfs.zil.commits": 0})
	}
	for name, later := range map[string]zfsCounters{"what was read ahead went back": read(110, 5, 3, 6, 2), "what is being read went back": read(110, 5, 2, 7, 2)} {
		m := result.Metrics{}
		later.since(before, m)
		differ(t, name, m, nil)
	}
}
