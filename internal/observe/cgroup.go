package observe

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/result"
)

// cgroupDirs calls visit with the directories of this process's cgroups, version 1 or 2, from
// its own upwards, as each can have a limit. In a container, the path in /proc/self/cgroup
// often does not exist: then the container's own cgroup is the root of the mount.
func cgroupDirs(root string, visit func(controller, dir string)) {
	for line := range strings.Lines(read(root, "proc/self/cgroup") + "\n") {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") { // "" is version 2
			for path := filepath.Clean("/" + parts[2]); ; path = filepath.Dir(path) {
				visit(controller, filepath.Join("sys/fs/cgroup", controller, path))
				if path == "/" {
					break
				}
			}
		}
	}
}

// throttled returns for how long a CPU quota has stopped this process's cgroups: the longest
// of them, because a cgroup's own time does not include that of those above it.
func throttled(root string) time.Duration {
	var longest time.Duration
	cgroupDirs(root, func(controller, dir string) {
		switch controller {
		case "", "cpu":
			fields := words(read(root, filepath.Join(dir, "cpu.stat")))
			longest = max(longest, time.Duration(fields["throttled_time"]), time.Duration(fields["throttled_usec"])*time.Microsecond)
		}
	})
	return longest
}

// limitFiles are the files in which a cgroup's limits of I/O stand, and the metrics that they
// become, after limit. Version 1 has a file for each.
var limitFiles = []struct{ file, key, metric, unit string }{
	{"blkio.throttle.read_bps_device", "", "read.bytes", result.BytesPerSecond},
	{"blkio.throttle.write_bps_device", "", "write.bytes", result.BytesPerSecond},
	{"blkio.throttle.read_iops_device", "", "read.count", result.PerSecond},
	{"blkio.throttle.write_iops_device", "", "write.count", result.PerSecond},
	{"io.max", "rbps", "read.bytes", result.BytesPerSecond},
	{"io.max", "wbps", "write.bytes", result.BytesPerSecond},
	{"io.max", "riops", "read.count", result.PerSecond},
	{"io.max", "wiops", "write.count", result.PerSecond},
}

// Limits returns the lowest limits of I/O that this process's cgroups have for the target's
// disks and those below, as limit.<operation>.<bytes or count>, and for the devices that all of its I/O
// passes, as limit.target.<operation>.<bytes or count>. A limit that is above the container's own cgroup
// is out of sight.
func (w Watch) Limits() result.Metrics {
	whole := w.numbersOf(w.Above)
	disks := w.numbersOf(w.Target, w.Uncounted, w.Below)
	maps.DeleteFunc(disks, func(number string, _ bool) bool { return whole[number] })
	m := result.Metrics{}
	cgroupDirs(w.Root, func(controller, dir string) {
		if controller != "" && controller != "blkio" {
			return
		}
		for _, f := range limitFiles {
			text := read(w.Root, filepath.Join(dir, f.file))
			for prefix, numbers := range map[string]map[string]bool{"limit.": disks, "limit.target.": whole} {
				limit, ok := lowest(text, f.key, numbers)
				if old, known := m[prefix+f.metric]; ok && (!known || limit < old.Value) {
					m.Set(prefix+f.metric, f.unit, limit)
				}
			}
		}
	})
	return m
}

// Unchanged returns the limits that were the same at two moments. One that was set or lifted between
// them did not decide the whole trial; samples show for how long it was there.
func Unchanged(before, after result.Metrics) result.Metrics {
	m := result.Metrics{}
	for name, limit := range after {
		if before[name] == limit {
			m[name] = limit
		}
	}
	return m
}

// numbersOf returns the numbers, MAJOR:MINOR, of devices in /sys/block.
func (w Watch) numbersOf(names ...[]string) map[string]bool {
	out := map[string]bool{}
	for _, name := range slices.Concat(names...) {
		if number := deviceNumber(w.Root, name); number != "" {
			out[number] = true
		}
	}
	return out
}

// lowest returns the lowest limit of a key that a file has for one of the devices. A line is a
// device and its limits: "8:0 rbps=1048576 wbps=max", or, without keys, "8:0 1048576".
func lowest(text, key string, numbers map[string]bool) (limit float64, ok bool) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !numbers[fields[0]] {
			continue
		}
		for _, field := range fields[1:] {
			name, value, named := strings.Cut(field, "=")
			if !named {
				name, value = "", field
			}
			n, err := strconv.ParseUint(value, 10, 64) // "max" is none
			if name == key && err == nil && n > 0 && (!ok || float64(n) < limit) {
				limit, ok = float64(n), true
			}
		}
	}
	return limit, ok
}

// words reads lines of a name and a number.
func words(text string) map[string]uint64 {
	out := map[string]uint64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 2 {
			if n, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
				out[fields[0]] = n
			}
		}
	}
	return out
}

// read reads a file below root; what cannot be read is empty.
func read(root, path string) string {
	b, err := os.ReadFile(filepath.Join("/", root, path))
	if err != nil {
		return ""
	}
	return string(b)
}
