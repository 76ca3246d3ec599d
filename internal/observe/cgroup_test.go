package observe

import (
	"testing"
	"time"

	"storagebench.io/storagebench/internal/samples"
)

// The lowest limit counts, wherever between the process and the root it is, and only if it is
// of one of the target's disks.
func TestTheLowestLimitCounts(t *testing.T) {
	const v1 = "5:cpu,cpuacct:/kube/pod\n4:blkio:/kube/pod\n0::/\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  map[string]float64
	}{
		"none": {map[string]string{"proc/self/cgroup": "0::/kube/pod\n"}, nil},
		"version 2": {
			map[string]string{
				"proc/self/cgroup":              "0::/kube/pod\n",
				"sys/fs/cgroup/kube/pod/io.max": "8:0 rbps=1000 wbps=max riops=10 wiops=20\n",
			},
			map[string]float64{"limit.read.bytes": 1000, "limit.read.count": 10, "limit.write.count": 20},
		},
		"version 2, of a disk below": {
			map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/io.max": "8:16 rbps=max wbps=5 riops=max wiops=max\n"},
			map[string]float64{"limit.write.bytes": 5},
		},
		"version 2, of another disk": {
			map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/io.max": "8:32 rbps=1 wbps=1 riops=1 wiops=1\n"}, nil,
		},
		"version 2, a lower one above": {
			map[string]string{
				"proc/self/cgroup":              "0::/kube/pod\n",
				"sys/fs/cgroup/kube/pod/io.max": "8:0 rbps=1000 wbps=5\n",
				"sys/fs/cgroup/kube/io.max":     "8:32 rbps=1\n8:0 rbps=500 wbps=10\n",
			},
			map[string]float64{"limit.read.bytes": 500, "limit.write.bytes": 5},
		},
		"version 2, of a volume above the disk": {
			map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/io.max": "253:0 rbps=7 wiops=9\n8:0 rbps=6\n"},
			map[string]float64{"limit.target.read.bytes": 7, "limit.target.write.count": 9, "limit.read.bytes": 6},
		},
		"version 1, of an array that counts in place of its disks": {
			map[string]string{"proc/self/cgroup": v1, "sys/fs/cgroup/blkio/kube/blkio.throttle.write_bps_device": "9:0 2000\n"},
			map[string]float64{"limit.target.write.bytes": 2000},
		},
		"version 2, several disks": {
			map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/io.max": "8:0 rbps=7\n8:16 rbps=6\n"},
			map[string]float64{"limit.read.bytes": 6},
		},
		"version 2, the path is the node's and not the container's": {
			map[string]string{"proc/self/cgroup": "0::/../../kube/pod\n", "sys/fs/cgroup/io.max": "8:0 rbps=9\n"},
			map[string]float64{"limit.read.bytes": 9},
		},
		"version 1": {
			map[string]string{
				"proc/self/cgroup": v1,
				"sys/fs/cgroup/blkio/kube/pod/blkio.throttle.read_bps_device":   "8:0 1000\n",
				"sys/fs/cgroup/blkio/kube/pod/blkio.throttle.write_bps_device":  "8:0 2000\n8:32 1\n",
				"sys/fs/cgroup/blkio/kube/pod/blkio.throttle.read_iops_device":  "8:0 30\n",
				"sys/fs/cgroup/blkio/kube/blkio.throttle.read_iops_device":      "8:0 20\n",
				"sys/fs/cgroup/blkio/kube/pod/blkio.throttle.write_iops_device": "8:16 40\n",
			},
			map[string]float64{"limit.read.bytes": 1000, "limit.write.bytes": 2000, "limit.read.count": 20, "limit.write.count": 40},
		},
		"version 1, another controller's directory": {
			map[string]string{"proc/self/cgroup": v1, "sys/fs/cgroup/cpu/blkio.throttle.read_bps_device": "8:0 1000\n"}, nil,
		},
		"what is no limit": {
			map[string]string{"proc/self/cgroup": "0::/\nnonsense\n", "sys/fs/cgroup/io.max": "8:0\n8:0 rbps=0 wbps=x riops=-1 wiops\n\n"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, c.files)
			put(t, root, map[string]string{"sys/block/sda/dev": "8:0\n", "sys/block/sdb/dev": "8:16\n", "sys/block/sdc/dev": "8:32\n", "sys/block/dm-0/dev": "253:0\n", "sys/block/md0/dev": "9:0\n"})
			w := Watch{Root: root, Target: []string{"sda", "md0", "gone"}, Below: []string{"sdb"}, Above: []string{"dm-0", "md0"}}
			differ(t, name, w.Limits(), c.want)
		})
	}
}

func TestTheLongestThrottlingCounts(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  time.Duration
	}{
		"no cgroup": {nil, 0},
		"version 2": {
			map[string]string{"proc/self/cgroup": "0::/pod\n", "sys/fs/cgroup/pod/cpu.stat": "usage_usec 9\nthrottled_usec 3000\n"}, 3 * time.Millisecond,
		},
		"version 2, the one above": {
			map[string]string{
				"proc/self/cgroup": "0::/pod/own\n", "sys/fs/cgroup/pod/own/cpu.stat": "throttled_usec 3000\n", "sys/fs/cgroup/pod/cpu.stat": "throttled_usec 4000\n",
			}, 4 * time.Millisecond,
		},
		"version 1": {
			map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/pod\n", "sys/fs/cgroup/cpu/pod/cpu.stat": "nr_periods 5\nthrottled_time 7000000\n"}, 7 * time.Millisecond,
		},
		"version 1, another controller": {
			map[string]string{"proc/self/cgroup": "5:memory:/pod\n", "sys/fs/cgroup/memory/pod/cpu.stat": "throttled_time 7000000\n"}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := throttled(tree(t, c.files)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Also one that is there for a part of the trial only.
func TestALimitOfAVolumeIsSampled(t *testing.T) {
	root := tree(t, machine(1, "253:0 rbps=max wbps=max riops=max wiops=max\n"))
	put(t, root, map[string]string{"sys/block/dm-0/dev": "253:0\n"})
	s := Watch{Root: root, Target: []string{"sda"}, Above: []string{"dm-0"}}.newSampler()
	s.begin, s.interval = noon, Long
	s.sample(0)
	put(t, root, machine(2, "253:0 rbps=7000 wbps=max riops=max wiops=max\n"))
	s.sample(2 * time.Second)
	close(s.stopped)
	if got := cell(t, s.Table(nil), samples.Machine, "", samples.LimitReadBytes); got != 7000 {
		t.Errorf("the limit is %v", got)
	}
}
