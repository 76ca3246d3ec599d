package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
)

// tree writes files below a new root.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	put(t, root, files)
	return root
}

func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// sectors is the stat file of a disk that has read and written so many sectors, each in one I/O.
func sectors(reads, writes int) string {
	return fmt.Sprintf("%d 0 %d 0 %d 0 %d 0 0 0 0 0 0 0 0 0 0\n", reads, reads, writes, writes)
}

// differ reports each metric that is not as it should be: also one that should not be there.
func differ(t *testing.T, what string, got result.Metrics, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if m, ok := got[name]; !ok || m.Value != value {
			t.Errorf("%s: %s is %+v, want %v", what, name, m, value)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is there: %+v", what, name, got[name])
		}
	}
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const cpuStat = "nr_periods 10\nnr_throttled 2\nthrottled_usec %d\n"

// Every group of disks is counted up to the moment that the clock stopped, and what is written
// afterwards apart from it.
func TestATrialIsWhatHappenedBetweenItsMoments(t *testing.T) {
	root := t.TempDir()
	at := func(seconds float64, counts ...int) {
		t.Helper()
		for i, name := range []string{"loop0", "sda", "sdb"} {
			disk(t, root, name, sectors(counts[2*i], counts[2*i+1]))
		}
		put(t, root, map[string]string{
			"proc/self/cgroup":              "0::/\n",
			"sys/fs/cgroup/cpu.stat":        fmt.Sprintf(cpuStat, int(seconds*1e5)),
			"proc/spl/kstat/zfs/tank/state": "ONLINE\n",
			"proc/spl/kstat/zfs/arcstats":   arc(100*int(seconds), 10*int(seconds)),
			"proc/spl/kstat/zfs/zil":        fmt.Sprintf("zil_commit_count 4 %d\n", int(seconds)),
		})
	}
	w := Watch{Root: root, Target: []string{"loop0"}, Below: []string{"sda"}, Others: []string{"sdb"}, ZFS: true, Pool: "tank"}
	at(1, 10, 20, 30, 40, 50, 60)
	before := w.Read(noon)
	gone := w
	gone.Target = []string{"sdz"}
	unread := gone.Read(noon)
	at(5, 11, 22, 33, 44, 55, 66)
	end := w.Read(noon.Add(4 * time.Second))
	at(7, 100, 32, 300, 54, 500, 76)
	drained := w.Read(noon.Add(6 * time.Second))
	differ(t, "all of it", w.Trial(before, end, drained), map[string]float64{
		"device.seconds": 4, "device.queue.depth": 0, "device.drain.bytes": 10 * 512,
		"device.read.count": 1, "device.read.bytes": 512, "device.read.await": 0,
		"device.write.count": 2, "device.write.bytes": 2 * 512, "device.write.await": 0, "device.flush.count": 0,
		"below.read.bytes": 3 * 512, "below.write.bytes": 4 * 512, "below.drain.bytes": 10 * 512,
		"others.read.bytes": 5 * 512, "others.write.bytes": 6 * 512, "others.drain.bytes": 10 * 512,
		"cpu.throttled": 0.1, "zfs.arc.hits": 400, "zfs.arc.misses": 40, "zfs.zil.commits": 4,
	})
	differ(t, "nothing is watched", Watch{}.Trial(Moment{At: noon}, Moment{At: noon.Add(time.Second)}, Moment{}), map[string]float64{"cpu.throttled": 0})
	differ(t, "no time passed", Watch{}.Trial(Moment{At: noon}, Moment{At: noon}, Moment{}), nil)

	if unread.Err == nil {
		t.Error("a disk that is not there was read")
	}
	for name, m := range map[string]result.Metrics{"before": w.Trial(unread, end, drained), "the end": w.Trial(before, unread, drained)} {
		if _, ok := m["device.read.bytes"]; ok || m["below.read.bytes"].Unit == "" {
			t.Errorf("%s could not be read: %v", name, m)
		}
	}
	late := w.Trial(before, end, unread)
	if _, ok := late["device.drain.bytes"]; ok || late["device.write.bytes"].Value != 1024 {
		t.Errorf("what came after the trial could not be read: %v", late)
	}
}

func TestIdleIsWhatTheDisksDidPerSecond(t *testing.T) {
	root := t.TempDir()
	w := Watch{Root: root, Target: []string{"sda"}}
	moment := func(seconds float64, reads, writes int) Moment {
		t.Helper()
		disk(t, root, "sda", sectors(reads, writes))
		return w.Read(noon.Add(time.Duration(seconds * float64(time.Second))))
	}
	first := moment(0, 100, 100)
	still, reading, writing := moment(0.5, 100, 100), moment(0.5, 101, 100), moment(0.5, 100, 104)
	for name, c := range map[string]struct {
		to          Moment
		busy        bool
		read, write float64
	}{
		"idle":    {still, false, 0, 0},
		"reading": {reading, true, 1024, 0},
		"writing": {writing, true, 0, 4096},
	} {
		if w.Busy(first, c.to) != c.busy {
			t.Errorf("%s: busy is %v", name, !c.busy)
		}
		differ(t, name, w.Idle(first, c.to), map[string]float64{"background.read.bytes": c.read, "background.write.bytes": c.write})
	}
	differ(t, "no time passed", w.Idle(first, first), nil)
	differ(t, "no disk is watched", Watch{}.Idle(first, still), nil)
	differ(t, "the disk is gone", w.Idle(first, Moment{At: still.At, Err: os.ErrNotExist}), nil)
}
