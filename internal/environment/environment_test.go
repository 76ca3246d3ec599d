package environment

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/trial"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestTheLowestLimitOfTheCgroupsCounts(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		cores  float64
		memory uint64
	}{
		"version 2": {
			files: map[string]string{
				"proc/self/cgroup":                             "0::/kubepods/pod/worker",
				"sys/fs/cgroup/kubepods/pod/worker/cpu.max":    "max 100000",
				"sys/fs/cgroup/kubepods/pod/cpu.max":           "150000 100000",
				"sys/fs/cgroup/kubepods/cpu.max":               "400000 100000",
				"sys/fs/cgroup/kubepods/pod/worker/memory.max": "1073741824",
				"sys/fs/cgroup/kubepods/pod/memory.max":        "max",
			},
			cores: 1.5, memory: 1 << 30,
		},
		"version 2 in a container": {
			files: map[string]string{
				"proc/self/cgroup":         "0::/",
				"sys/fs/cgroup/cpu.max":    "50000 100000",
				"sys/fs/cgroup/memory.max": "268435456",
			},
			cores: 0.5, memory: 256 << 20,
		},
		"version 1, in a path that the container does not show": {
			files: map[string]string{
				"proc/self/cgroup":                           "4:memory:/kubepods/pod\n3:cpu,cpuacct:/kubepods/pod\n0::/x",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912",
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us":         "200000",
				"sys/fs/cgroup/cpu/cpu.cfs_period_us":        "100000",
				"sys/fs/cgroup/cpuacct/cpu.cfs_quota_us":     "-1",
			},
			cores: 2, memory: 512 << 20,
		},
		"none":    {files: map[string]string{"proc/self/cgroup": "0::/"}, memory: math.MaxUint64},
		"nothing": {memory: math.MaxUint64},
	} {
		if l := readLimits(tree(t, c.files)); l.cores != c.cores || l.memory != c.memory {
			t.Errorf("%s: got %+v", name, l)
		}
	}
}

func TestWhatCanBeReadIsRecorded(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/cpuinfo":                "processor\t: 0\nmodel name\t: Lab CPU\n\nprocessor\t: 1\nmodel name\t: Lab CPU\n",
		"proc/meminfo":                "MemTotal: 1024 kB",
		"proc/self/mountinfo":         "20 1 0:5 / / rw,noatime - tmpfs none rw",
		"proc/self/cgroup":            "0::/",
		"proc/spl/kstat/zfs/arcstats": "13 1 0x01 123 33456 1 2\nname type data\nc 4 100\nc_min 4 10\nc_max 4 524288",
	})
	dir := t.TempDir()
	e := Collect(Input{System: device.System{Root: root}, Path: dir, Mode: trial.Filesystem, Tools: map[string]string{"fio": "3.33"}})
	if e.CPU.Count != 2 || e.CPU.Model != "Lab CPU" || e.Memory.TotalBytes != 1<<20 || e.Memory.LimitBytes != 0 || e.Memory.ARCBytes != 524288 || e.CPU.LimitCores != 0 {
		t.Errorf("CPU %+v, memory %+v", e.CPU, e.Memory)
	}
	if e.Hostname == "" || e.Kernel == "" || e.Architecture == "" || e.Tools["fio"] != "3.33" {
		t.Errorf("got %+v", e)
	}
	if e.Target.FilesystemType != "tmpfs" || e.Target.MountOptions != "rw,noatime" || e.Target.SizeBytes == 0 || e.Target.DeviceNote == "" || e.Target.Devices == nil {
		t.Errorf("target %+v", e.Target)
	}
	if l := e.Target.Layers; len(l) != 1 || l[0].ID != "fs:/" || !l[0].InMemory {
		t.Errorf("layers %+v", l)
	}
}

func TestNothingToReadIsNoError(t *testing.T) {
	e := Collect(Input{System: device.System{Root: t.TempDir()}, Path: "/nonexistent", Mode: trial.Block})
	if e.CPU.Count != 0 || e.Target.DeviceNote == "" || len(e.Target.Devices) != 0 {
		t.Errorf("got %+v", e)
	}
}
