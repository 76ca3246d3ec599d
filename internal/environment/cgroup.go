package environment

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// limits are the lowest limits of a cgroup and of those above it.
type limits struct {
	cores  float64 // 0: none
	memory uint64  // MaxUint64: none
}

// readLimits reads the limits of this process's cgroups, version 1 or 2. In a
// container, the path in /proc/self/cgroup often does not exist: then the
// container's own cgroup is the root of the mount.
func readLimits(root string) limits {
	l := limits{memory: math.MaxUint64}
	for line := range strings.Lines(readTrimmed(filepath.Join(root, "proc/self/cgroup")) + "\n") {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[1] == "" { // version 2
			l.walk(filepath.Join(root, "sys/fs/cgroup"), parts[2], l.version2)
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			l.walk(filepath.Join(root, "sys/fs/cgroup", controller), parts[2], l.version1)
		}
	}
	return l
}

// walk visits a cgroup and those above it, as each can have a lower limit.
func (l *limits) walk(mount, path string, visit func(dir string)) {
	for path = filepath.Clean("/" + path); ; path = filepath.Dir(path) {
		visit(filepath.Join(mount, path))
		if path == "/" {
			return
		}
	}
}

func (l *limits) version2(dir string) {
	quota, period, _ := strings.Cut(readTrimmed(filepath.Join(dir, "cpu.max")), " ")
	l.addCPU(quota, period)
	l.addMemory(readTrimmed(filepath.Join(dir, "memory.max")))
}

func (l *limits) version1(dir string) {
	l.addCPU(readTrimmed(filepath.Join(dir, "cpu.cfs_quota_us")), readTrimmed(filepath.Join(dir, "cpu.cfs_period_us")))
	l.addMemory(readTrimmed(filepath.Join(dir, "memory.limit_in_bytes")))
}

// addCPU adds a limit of quota per period; "max", -1 and empty text mean no limit.
func (l *limits) addCPU(quota, period string) {
	q, err := strconv.ParseFloat(quota, 64)
	p, errPeriod := strconv.ParseFloat(period, 64)
	if err != nil || errPeriod != nil || q <= 0 || p <= 0 {
		return
	}
	if cores := q / p; l.cores == 0 || cores < l.cores {
		l.cores = cores
	}
}

func (l *limits) addMemory(text string) {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		l.memory = min(l.memory, n)
	}
}
