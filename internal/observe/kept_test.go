package observe

import (
	"maps"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/samples"
)

// What the kernel does not count is no number at all: it neither accuses nor acquits.
func TestWhatTheKernelDoesNotCountIsAbsent(t *testing.T) {
	const (
		queue = "sys/block/sda/queue/iostats"
		mq    = "sys/block/sda/mq/0/nr_tags"
	)
	for name, c := range map[string]struct {
		stat  string
		files map[string]string
		// io, discards and flushes tell what is counted.
		io, discards, flushes bool
	}{
		"everything":                       {"1 0 8 0 1 0 8 0 0 0 0 1 0 8 0 1 1", map[string]string{queue: "1\n", mq: "1"}, true, true, true},
		"no requests":                      {"0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 7 1", map[string]string{queue: "0\n", mq: "1"}, false, false, false},
		"Linux 4.19, without flushes":      {"1 0 8 0 1 0 8 0 0 0 0 1 0 8 0", map[string]string{queue: "1\n", mq: "1"}, true, true, false},
		"Linux 4.4, without discards":      {"1 0 8 0 1 0 8 0 0 0 0", map[string]string{queue: "1\n", mq: "1"}, true, false, false},
		"a driver of bios":                 {"1 0 8 0 1 0 8 0 0 0 0 1 0 8 0 0 0", map[string]string{queue: "1\n"}, true, true, false},
		"zram, which counts itself":        {"1 0 8 0 1 0 8 0 0 0 0 1 0 8 0 0 0", map[string]string{queue: "0\n", "sys/block/sda/mm_stat": "0"}, true, true, false},
		"a driver that counts nothing":     {"0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", map[string]string{queue: "1\n", mq: "1"}, false, false, false},
		"a tree that shows no queue of it": {"1 0 8 0 1 0 8 0 0 0 0 1 0 8 0 1 1", nil, true, true, true},
	} {
		files := map[string]string{"sys/block/sda/stat": c.stat}
		maps.Copy(files, c.files)
		w := Watch{Root: tree(t, files), Target: []string{"sda"}}
		moment := w.Read(noon)
		if moment.Err != nil {
			t.Fatal(moment.Err)
		}
		m := w.Trial(moment, w.Read(noon.Add(time.Second)), w.Read(noon.Add(2*time.Second)))
		for metric, want := range map[string]bool{
			"device.read.bytes": c.io, "device.write.count": c.io, "device.queue.depth": c.io, "device.drain.bytes": c.io, "device.flush.count": c.flushes, "device.seconds": true,
		} {
			if _, got := m[metric]; got != want {
				t.Errorf("%s: %s is there: %v, want %v", name, metric, got, want)
			}
		}
		if name == "a driver that counts nothing" {
			continue // which shows only at the end
		}
		table := w.Start(time.Second).Table(nil)
		rows := table.Select(samples.Disk, "sda")
		if (len(rows) > 0) != c.io {
			t.Errorf("%s: %d rows of samples", name, len(rows))
			continue
		}
		for column, want := range map[samples.Column]bool{samples.ReadBytes: c.io, samples.DiscardCount: c.discards, samples.FlushCount: c.flushes} {
			for _, row := range rows {
				if v := table.Values[column][row]; (v == v) != want {
					t.Errorf("%s: column %v of a sample is %v", name, column, v)
				}
			}
		}
	}
}

func TestCountersThatWereTurnedOffMeanwhileTellNothing(t *testing.T) {
	root := tree(t, map[string]string{"sys/block/sda/stat": sectors(5, 5), "sys/block/sda/queue/iostats": "1\n"})
	w := Watch{Root: root, Target: []string{"sda"}}
	before := w.Read(noon)
	put(t, root, map[string]string{"sys/block/sda/queue/iostats": "0\n"})
	end := w.Read(noon.Add(time.Second))
	differ(t, "turned off", w.Trial(before, end, end), map[string]float64{"device.seconds": 1, "cpu.throttled": 0})
	differ(t, "turned on", w.Trial(end, before, before), map[string]float64{"device.seconds": -1, "device.drain.bytes": 0})
}

func TestALimitCountsIfItWasThereAllTheTime(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/self/cgroup": "0::/\n", "sys/block/sda/dev": "8:0\n", "sys/block/sda/stat": sectors(0, 0),
		"sys/fs/cgroup/io.max": "8:0 rbps=1000 wbps=2000 riops=max wiops=max\n",
	})
	w := Watch{Root: root, Uncounted: []string{"sda"}}
	before := w.Limits()
	put(t, root, map[string]string{"sys/fs/cgroup/io.max": "8:0 rbps=1000 wbps=500 riops=9 wiops=max\n"})
	differ(t, "limits", Unchanged(before, w.Limits()), map[string]float64{"limit.read.bytes": 1000})
}
