package observe

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/samples"
)

// ofTicks is the stat file of a disk that has read so often, and took so many milliseconds for it.
func ofTicks(reads, milliseconds uint64) string {
	milliseconds %= 1 << 32
	return fmt.Sprintf("%d 0 %d %d 0 0 0 0 9 %d %d 0 0 0 0 0 0\n", reads, 8*reads, milliseconds, milliseconds, milliseconds)
}

// sampled starts a sampler without a clock, with the first sample at noon.
func sampled(w Watch) *Sampler {
	s := w.newSampler()
	s.begin, s.interval = noon, Long
	s.sample(0)
	return s
}

// The kernel prints 32 bits of its milliseconds. Of two disks, each begins anew at another time.
func TestTicksThatBeginAnewAreCounted(t *testing.T) {
	const nearly, took = 1<<32 - 7000, 1000000
	root := t.TempDir()
	d := Disks{Root: root, Names: []string{"sda", "sdb"}}
	disk(t, root, "sda", ofTicks(1000, nearly))
	disk(t, root, "sdb", ofTicks(1000, 5))
	before, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	disk(t, root, "sda", ofTicks(1001000, nearly+took))
	disk(t, root, "sdb", ofTicks(1001000, 5+took))
	end, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	m := before.Metrics(end, 10)
	if depth, await := m["device.queue.depth"].Value, m["device.read.await"].Value; depth != 200 || await != 0.001 {
		t.Errorf("a depth of %v, and %v s for a read", depth, await)
	}
}

// In a long trial, they begin anew several times, which only samples see.
func TestTicksThatBeginAnewOftenAreCounted(t *testing.T) {
	const each, hours = 3 << 30, 12 // milliseconds between two samples
	root := tree(t, map[string]string{"sys/block/sda/stat": ofTicks(0, 1<<32-1)})
	w := Watch{Root: root, Target: []string{"sda"}}
	s := sampled(w)
	disk(t, root, "sda", ofTicks(10, 1<<32+9))
	before := w.Read(noon)
	for i := range uint64(hours) {
		disk(t, root, "sda", ofTicks(10+1000*(i+1), 1<<32+9+each*(i+1)))
		s.sample(time.Duration(i+1) * time.Hour)
	}
	end := w.Read(noon.Add(hours * time.Hour))
	disk(t, root, "sda", ofTicks(20000, 1<<32+11+each*hours))
	s.sample(hours*time.Hour + time.Second)
	close(s.stopped)
	const depth = each / 3.6e6
	if got := s.Trial(before, end, end)["device.queue.depth"].Value; math.Abs(got-depth) > 1e-9*depth {
		t.Errorf("a depth of %v, want %v", got, depth)
	}
	for s.Halve() { // also where samples between them are dropped
	}
	table := s.Table(nil)
	for _, row := range table.Select(samples.Disk, "sda") {
		if got := table.Values[samples.QueueDepth][row]; math.Abs(got-depth) > 1e-3*depth {
			t.Errorf("a depth of %v in a sample, want %v", got, depth)
		}
	}
}

// Of a disk that was not counted all the time, nothing is known: the rest is no smaller number, and never 0.
func TestADiskThatWasNotCountedAllTheTimeTellsNothing(t *testing.T) {
	const stat, iostats = "sys/block/sda/stat", "sys/block/sda/queue/iostats"
	gone := func(t *testing.T, root string) {
		t.Helper()
		// The file that the sampler has open has nothing more, as that of a disk that is gone.
		if err := os.Truncate(filepath.Join(root, stat), 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(root, stat)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		first, meanwhile, back map[string]string
		gone                   bool
		// known tells which of the intervals between samples are.
		known [4]bool
	}{
		"all the time":      {nil, nil, nil, false, [4]bool{true, true, true, true}},
		"turned off and on": {nil, map[string]string{iostats: "0\n"}, map[string]string{iostats: "1\n"}, false, [4]bool{true, false, false, true}},
		"turned off by a driver that counts all the same": {
			map[string]string{"sys/block/sda/mm_stat": "0"}, map[string]string{iostats: "0\n"}, map[string]string{iostats: "1\n"}, false, [4]bool{true, true, true, true},
		},
		"another one had its name": {nil, map[string]string{stat: sectors(1, 1)}, nil, false, [4]bool{true, false, true, true}},
		"gone, and there again":    {nil, nil, nil, true, [4]bool{true, false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, map[string]string{stat: sectors(100, 100), iostats: "1\n", "sys/block/sdb/stat": sectors(100, 100)})
			put(t, root, c.first)
			w := Watch{Root: root, Target: []string{"sda"}, Below: []string{"sdb"}, Others: []string{"sda", "sdb"}}
			s := sampled(w)
			before := w.Read(noon)
			s.sample(time.Second)
			put(t, root, c.meanwhile)
			if c.gone {
				gone(t, root)
			}
			s.sample(2 * time.Second)
			put(t, root, map[string]string{stat: sectors(110, 120), "sys/block/sdb/stat": sectors(110, 120)})
			put(t, root, c.back)
			s.sample(3 * time.Second)
			end := w.Read(noon.Add(3 * time.Second))
			s.sample(4 * time.Second)
			close(s.stopped)

			m, all := s.Trial(before, end, end), c.known == [4]bool{true, true, true, true}
			for _, metric := range []string{"device.read.count", "device.write.bytes", "device.write.await", "device.queue.depth", "device.drain.bytes", "others.write.bytes"} {
				if _, ok := m[metric]; ok != all {
					t.Errorf("%s is there: %v", metric, ok)
				}
			}
			if m["below.write.bytes"].Value != 20*sector || m["device.seconds"].Value != 3 {
				t.Errorf("what the others did: %v", m)
			}
			if _, ok := w.Trial(before, end, end)["device.read.count"]; !ok {
				t.Error("the moments changed")
			}
			table := s.Table(nil)
			rows := table.Select(samples.Disk, "sda")
			if len(rows) != len(c.known) {
				t.Fatalf("%d rows", len(rows))
			}
			for i, row := range rows {
				for _, column := range []samples.Column{samples.ReadBytes, samples.WriteCount, samples.QueueDepth, samples.InFlight} {
					if v := table.Values[column][row]; math.IsNaN(v) == c.known[i] {
						t.Errorf("%s of interval %d is %v", samples.Columns[column].Name, i, v)
					}
				}
			}
			if _, ok := s.Idle()["disk.write.bytes"]; ok != all {
				t.Errorf("the baseline is there: %v", ok)
			}
		})
	}
}

// A disk that another one replaced, or that is gone, leaves nothing known of all disks of its group.
func TestADiskThatIsAnotherAtTheEndTellsNothing(t *testing.T) {
	root := t.TempDir()
	w := Watch{Root: root, Target: []string{"sda"}, Below: []string{"sdb", "sdc"}}
	for _, name := range []string{"sda", "sdb", "sdc"} {
		disk(t, root, name, sectors(100, 100))
	}
	before := w.Read(noon)
	disk(t, root, "sda", sectors(200, 99)) // it reads more than the one before it ever wrote
	disk(t, root, "sdb", sectors(200, 200))
	if err := os.Remove(filepath.Join(root, "sys/block/sdc/stat")); err != nil {
		t.Fatal(err)
	}
	end := w.Read(noon.Add(time.Second))
	differ(t, "they are others", w.Trial(before, end, end), map[string]float64{"device.seconds": 1, "device.drain.bytes": 0, "cpu.throttled": 0})
}
