package observe

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// machine is a tree of the kernel's files, of a machine that has done everything n times.
func machine(n int, limit string) map[string]string {
	files := map[string]string{
		"sys/block/sda/dev":  "8:0\n",
		"sys/block/sda/stat": fmt.Sprintf("%d %d %d %d %d %d %d %d 3 0 %d %d 0 %d 0 %d %d\n", 10*n, n, 80*n, 20*n, 5*n, 2*n, 40*n, 50*n, 1000*n, 4*n, 16*n, 7*n, 70*n),
		"sys/block/sdb/dev":  "8:16\n",
		"sys/block/sdb/stat": fmt.Sprintf("%d 0 0 0 0 0 0 0 0 0 0\n", n), // of an old kernel
		"proc/stat":          fmt.Sprintf("cpu  %d %d %d %d %d %d %d %d 0 0\ncpu0 1 2 3\nintr 99\n", 10*n, 10*n, 20*n, 30*n, 10*n, 5*n, 5*n, 10*n),
		"proc/meminfo":       fmt.Sprintf("MemTotal:  99 kB\nDirty:  %d kB\nWriteback:   %d kB\nWritebackTmp: 7 kB\n", n, 2*n),
		"proc/self/cgroup":   "0::/pod\n",
	}
	for i, name := range []string{"cpu", "io", "memory"} {
		files["proc/pressure/"+name] = fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n", (i+1)*100000*n, (i+1)*10000*n)
	}
	files["sys/fs/cgroup/pod/cpu.stat"] = fmt.Sprintf("usage_usec %d\nnr_periods 9\nnr_throttled %d\nthrottled_usec %d\n", 500000*n, n, 1000*n)
	files["sys/fs/cgroup/cpu.stat"] = fmt.Sprintf("usage_usec 77\nnr_throttled %d\nthrottled_usec %d\n", 2*n, 3000*n)
	files["sys/fs/cgroup/pod/io.max"] = limit
	files["sys/fs/cgroup/pod/io.stat"] = fmt.Sprintf("8:16 rbytes=5 wbytes=6\n8:0 rbytes=%d wbytes=%d rios=1 wios=1\n", 4096*n, 8192*n)
	files["proc/spl/kstat/zfs/arcstats"] = fmt.Sprintf("13 1 0x01\nname type data\nhits 4 1\ndemand_data_hits 4 %d\ndemand_data_misses 4 %d\nsize 4 %d\ndemand_hit_predictive_prefetch 4 %d\n", 40*n, 3*n, 1000*n, 10*n)
	files["proc/spl/kstat/zfs/zil"] = fmt.Sprintf("zil_commit_count 4 %d\n", 9*n)
	files["proc/spl/kstat/zfs/tank/txgs"] = fmt.Sprintf("19 0 0x01\ntxg birth state\n%-8d 1 C\n%-8d 2 O\n", 5*n-1, 5*n)
	return files
}

// cell returns a value of the only row of a scope and name.
func cell(t *testing.T, table *samples.Table, scope samples.Scope, name string, c samples.Column) float64 {
	t.Helper()
	rows := table.Select(scope, name)
	if len(rows) != 1 {
		t.Fatalf("%d rows of %s %s", len(rows), scope, name)
	}
	return table.Values[c][rows[0]]
}

func TestAnIntervalIsWhatHappenedInIt(t *testing.T) {
	root := tree(t, machine(1, "8:0 rbps=max wbps=1000 riops=max wiops=max\n"))
	w := Watch{Root: root, Target: []string{"sda"}, Others: []string{"sdb"}, ZFS: true, Pool: "tank"}
	s := w.newSampler()
	s.begin, s.interval = noon, Long
	s.sample(0)
	put(t, root, machine(2, "8:0 rbps=max wbps=max riops=50 wiops=max\n"))
	s.sample(2 * time.Second)
	close(s.stopped)
	table := s.Table([]result.Rate{
		{Operation: "write", End: noon.Add(time.Second), Seconds: 1, Count: 10, Bytes: 100},
		{Operation: "write", End: noon.Add(3 * time.Second), Seconds: 2, Count: 10, Bytes: 100},
	})
	null := math.NaN()
	for _, c := range []struct {
		scope  samples.Scope
		name   string
		column samples.Column
		want   float64
	}{
		{samples.Disk, "sda", samples.Seconds, 2},
		{samples.Disk, "sda", samples.ReadCount, 10},
		{samples.Disk, "sda", samples.ReadMerges, 1},
		{samples.Disk, "sda", samples.ReadBytes, 80 * 512},
		{samples.Disk, "sda", samples.ReadAwait, 0.002},
		{samples.Disk, "sda", samples.WriteCount, 5},
		{samples.Disk, "sda", samples.WriteMerges, 2},
		{samples.Disk, "sda", samples.WriteBytes, 40 * 512},
		{samples.Disk, "sda", samples.WriteAwait, 0.010},
		{samples.Disk, "sda", samples.DiscardCount, 4},
		{samples.Disk, "sda", samples.DiscardBytes, 16 * 512},
		{samples.Disk, "sda", samples.FlushCount, 7},
		{samples.Disk, "sda", samples.FlushSeconds, 0.07},
		{samples.Disk, "sda", samples.InFlight, 3},
		{samples.Disk, "sda", samples.QueueDepth, 0.5},
		{samples.Disk, "sda", samples.CgroupReadBytes, 4096},
		{samples.Disk, "sda", samples.CgroupWriteBytes, 8192},
		{samples.Disk, "sda", samples.DirtyBytes, null},
		{samples.Disk, "sdb", samples.ReadCount, 1},
		{samples.Disk, "sdb", samples.ReadAwait, 0},
		{samples.Disk, "sdb", samples.WriteAwait, null},
		{samples.Disk, "sdb", samples.FlushCount, null},
		{samples.Machine, "", samples.CPUUser, 0.2},
		{samples.Machine, "", samples.CPUSystem, 0.3},
		{samples.Machine, "", samples.CPUIdle, 0.3},
		{samples.Machine, "", samples.CPUIOWait, 0.1},
		{samples.Machine, "", samples.CPUSteal, 0.1},
		{samples.Machine, "", samples.DirtyBytes, 2048},
		{samples.Machine, "", samples.WritebackBytes, 4096},
		{samples.Machine, "", samples.PressureCPU, 0.05},
		{samples.Machine, "", samples.PressureIO, 0.1},
		{samples.Machine, "", samples.PressureIOFull, 0.01},
		{samples.Machine, "", samples.PressureMemory, 0.15},
		{samples.Machine, "", samples.PressureMemoryFull, 0.015},
		{samples.Machine, "", samples.CgroupCPUSeconds, 0.5},
		{samples.Machine, "", samples.CgroupThrottledPeriods, 2},
		{samples.Machine, "", samples.CgroupThrottledSeconds, 0.003},
		{samples.Machine, "", samples.LimitReadBytes, null},
		{samples.Machine, "", samples.LimitWriteBytes, null},
		{samples.Machine, "", samples.LimitReadCount, 50},
		{samples.Machine, "", samples.ARCHits, 30},
		{samples.Machine, "", samples.ARCMisses, 13},
		{samples.Machine, "", samples.ARCBytes, 2000},
		{samples.Machine, "", samples.ZILCommits, 9},
		{samples.Machine, "", samples.TransactionGroups, 5},
		{samples.Workload, "write", samples.Count, 15},
		{samples.Workload, "write", samples.Bytes, 150},
	} {
		got := cell(t, table, c.scope, c.name, c.column)
		if math.IsNaN(got) != math.IsNaN(c.want) || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s %s: %s is %v, want %v", c.scope, c.name, samples.Columns[c.column].Name, got, c.want)
		}
	}
}

func TestVersion1OfCgroupsIsSampled(t *testing.T) {
	files := func(n int) map[string]string {
		return map[string]string{
			"sys/block/sda/dev": "8:0\n", "sys/block/sda/stat": sectors(n, n),
			"proc/self/cgroup":                                         "5:cpu:/pod\n4:blkio:/pod\n3:cpuacct:/pod\n",
			"sys/fs/cgroup/cpu/pod/cpu.stat":                           fmt.Sprintf("nr_periods 5\nnr_throttled %d\nthrottled_time %d\n", n, n*1000000),
			"sys/fs/cgroup/cpuacct/pod/cpuacct.usage":                  fmt.Sprintf("%d\n", n*1000000000),
			"sys/fs/cgroup/blkio/pod/blkio.throttle.io_service_bytes":  fmt.Sprintf("8:0 Read %d\n8:0 Write %d\n8:0 Total 9\nTotal 9\n", 512*n, 1024*n),
			"sys/fs/cgroup/blkio/pod/blkio.throttle.read_bps_device":   "8:0 1000\n",
			"sys/fs/cgroup/blkio/blkio.throttle.read_bps_device":       "8:0 900\n8:16 1\n",
			"sys/fs/cgroup/blkio/pod/blkio.throttle.write_iops_device": "8:0 7\n",
		}
	}
	root := tree(t, files(1))
	s := Watch{Root: root, Target: []string{"sda"}}.newSampler()
	s.begin, s.interval = noon, Long
	s.sample(0)
	put(t, root, files(3))
	s.sample(time.Second)
	close(s.stopped)
	table := s.Table(nil)
	for c, want := range map[samples.Column]float64{
		samples.CgroupThrottledPeriods: 2, samples.CgroupThrottledSeconds: 0.002, samples.CgroupCPUSeconds: 2,
		samples.LimitReadBytes: 900, samples.LimitWriteCount: 7,
	} {
		if got := cell(t, table, samples.Machine, "", c); got != want {
			t.Errorf("%s is %v, want %v", samples.Columns[c].Name, got, want)
		}
	}
	if r, w := cell(t, table, samples.Disk, "sda", samples.CgroupReadBytes), cell(t, table, samples.Disk, "sda", samples.CgroupWriteBytes); r != 1024 || w != 2048 {
		t.Errorf("the cgroup read %v and wrote %v", r, w)
	}
}

// Where nothing can be read, nothing is there, rather than zeros.
func TestWhatCannotBeReadIsAbsent(t *testing.T) {
	s := Watch{Root: t.TempDir(), Target: []string{"sda"}, ZFS: true, Pool: "tank"}.newSampler()
	s.begin, s.interval = noon, Long
	s.sample(0)
	s.sample(time.Second)
	close(s.stopped)
	table := s.Table(nil)
	if table.Len() != 1 {
		t.Fatalf("%d rows", table.Len())
	}
	for c := range samples.Columns {
		if v := table.Values[c][0]; !math.IsNaN(v) && samples.Column(c) != samples.Seconds {
			t.Errorf("%s is %v", samples.Columns[c].Name, v)
		}
	}
}

func TestASampleAllocatesNothing(t *testing.T) {
	root := tree(t, machine(1, "8:0 rbps=1 wbps=2 riops=3 wiops=4\n"))
	s := Watch{Root: root, Target: []string{"sda", "sdb"}, ZFS: true, Pool: "tank"}.newSampler()
	if n := testing.AllocsPerRun(100, func() { s.taken = 0; s.sample(time.Second) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// However long a trial takes, at most maxSamples are kept, evenly, and nothing that was counted is lost.
func TestSamplesAreBoundedAndNothingIsLost(t *testing.T) {
	root := tree(t, machine(0, ""))
	s := Watch{Root: root, Target: []string{"sda"}}.newSampler()
	s.begin, s.interval = noon, Long
	const seconds = 5000
	elapsed := time.Duration(0)
	s.sample(0)
	for elapsed < seconds*time.Second {
		elapsed += s.interval
		if n := int(elapsed / time.Second); n%500 == 0 {
			put(t, root, map[string]string{"sys/block/sda/stat": sectors(n, 2*n)})
		}
		s.next(elapsed)
	}
	if s.taken > maxSamples || s.taken < maxSamples/2-1 || s.interval != 4*time.Second {
		t.Errorf("%d samples every %s", s.taken, s.interval)
	}
	put(t, root, map[string]string{"sys/block/sda/stat": sectors(6000, 12000)})
	s.sample(elapsed + time.Second/2)
	close(s.stopped)
	check := func() {
		t.Helper()
		table := s.Table(nil)
		reads := 0.0
		for _, row := range table.Select(samples.Disk, "sda") {
			reads += table.Values[samples.ReadCount][row]
			if length := table.Values[samples.Seconds][row]; length > 1.5*s.interval.Seconds() {
				t.Errorf("an interval of %v s", length)
			}
		}
		if reads != 6000 {
			t.Errorf("%v reads, want 6000", reads)
		}
	}
	check()
	before := s.taken
	if !s.Halve() || s.taken > before/2+1 {
		t.Errorf("%d samples of %d are left", s.taken, before)
	}
	check()
	for s.Halve() {
	}
	if s.taken < 2 || s.taken > 4 {
		t.Errorf("%d samples are left at last", s.taken)
	}
	check()
}

// A trial whose length nobody knows is sampled often at first.
func TestATrialOfUnknownLengthIsSampledOftenAtFirst(t *testing.T) {
	s := Watch{Root: t.TempDir()}.newSampler()
	s.begin, s.interval, s.adapt = noon, Short, true
	s.sample(0)
	for i := range 100 {
		s.next(time.Duration(i+1) * Short)
	}
	if s.interval != Long || s.taken != 11 || s.row(10)[elapsedAt] != uint64(10*time.Second) {
		t.Errorf("%d samples every %s", s.taken, s.interval)
	}
}

func TestTheSamplerRunsUntilItIsStopped(t *testing.T) {
	root := tree(t, machine(1, ""))
	for name, c := range map[string]struct {
		expected time.Duration
		want     time.Duration
	}{"short": {5 * time.Second, Short}, "long": {10 * time.Second, Long}, "unknown": {0, Short}} {
		s := Watch{Root: root, Target: []string{"sda"}}.Start(c.expected)
		if s.interval != c.want {
			t.Errorf("%s: every %s", name, s.interval)
		}
		s.Stop()
		s.Stop()
		if table := s.Table(nil); table.Len() != 2 || s.sources != nil {
			t.Errorf("%s: %d rows", name, table.Len())
		}
	}
}

// A machine with many disks is sampled in bounds.
func TestOnlySoManyDisksAreSampled(t *testing.T) {
	w := Watch{Root: t.TempDir(), Target: []string{"sda", "sda"}}
	for i := range 2 * maxDisks {
		w.Others = append(w.Others, fmt.Sprint("sdx", i))
	}
	if s := w.newSampler(); len(s.disks) != maxDisks || s.disks[0] != "sda" || s.disks[1] != "sdx0" {
		t.Errorf("these are: %v", s.disks)
	}
}

// Whatever the kernel's files hold, parsers come back.
func TestParsersBearWhatIsNotAsExpected(t *testing.T) {
	parsers := map[string]func([]byte, []uint64){
		"keyed": keyed("a", "b "), "kstats": kstats("a "), "pressures": pressures, "last": lastNumber,
		"cgroup": cgroupBytes("8:0"), "lowest": lowestOf([]string{"8:0", "8:1"}, [4]string{"rbps=", "", none, "w="}), "first": first,
	}
	for _, text := range []string{
		"", "\n", "\n\n", "a", "a ", "a 4", "a 4 ", "some", "some ", "some total=", "some total=x", "full total=9", "8:0", "8:0 ", "8:0 Read", "8:0 Read x", "8:0 rbytes=", "8:0 rbps=max",
		"8:0 99999999999999999999999", strings.Repeat("8:0 \n", 100),
	} {
		for name, parse := range parsers {
			row := make([]uint64, 8)
			parse([]byte(text), row)
			if text == "full total=9" && name == "pressures" && row[1] != 9 {
				t.Errorf("%s of %q: %v", name, text, row)
			}
		}
	}
	if deviceNumber(t.TempDir(), filepath.Join("..", "x")) != "" {
		t.Error("a number of no disk")
	}
}

func TestABaselineIsAnAverage(t *testing.T) {
	root := tree(t, machine(1, ""))
	s := Watch{Root: root, Target: []string{"sda"}}.newSampler()
	s.begin, s.interval = noon, Long
	s.sample(0)
	put(t, root, machine(2, ""))
	s.sample(2 * time.Second)
	close(s.stopped)
	differ(t, "it", s.Idle(), map[string]float64{
		"seconds": 2, "disk.read.bytes": 40 * 512, "disk.write.bytes": 20 * 512, "disk.flush.count": 3.5,
		"cpu.idle": 0.3, "cpu.iowait": 0.1, "cpu.steal": 0.1, "pressure.io": 0.1,
	})
	s = Watch{Root: t.TempDir()}.newSampler()
	s.begin = noon
	s.sample(0)
	close(s.stopped)
	differ(t, "of no time", s.Idle(), map[string]float64{"seconds": 0})
}
