package device

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// maxDepth bounds the layers that are followed, so that a cycle in a fake or
// broken tree ends.
const maxDepth = 16

// UnderPath returns the leaf disks under a file system's path, and a note if
// there are none or if there is more to know about them.
func (s System) UnderPath(path string) ([]result.Device, string) {
	fs, err := s.Filesystem(path)
	if err != nil {
		return nil, err.Error()
	}
	return s.underFilesystem(fs, 0)
}

func (s System) underFilesystem(fs Filesystem, depth int) ([]result.Device, string) {
	if fs.Major != 0 {
		return s.UnderNumber(fs.Major, fs.Minor)
	}
	switch kind, _, _ := strings.Cut(fs.Type, "."); kind {
	case "btrfs":
		return s.underBtrfs(fs)
	case "overlay":
		return s.underOverlay(fs, depth)
	case "zfs":
		pool, _, _ := strings.Cut(fs.Source, "/")
		return nil, fmt.Sprintf("sysfs does not show the disks of the ZFS pool %s", pool)
	case "tmpfs", "ramfs":
		return nil, fs.Type + " is in memory: there is no device"
	case "nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "9p", "virtiofs", "lustre", "beegfs":
		return nil, fmt.Sprintf("the target is on %s from %s, whose disks are on another machine and cannot be watched from here", fs.Type, fs.Source)
	case "fuse":
		return nil, fmt.Sprintf("a program keeps the files of %s (%s), and the disks that it uses cannot be seen from here", fs.Source, fs.Type)
	default:
		return nil, fmt.Sprintf("a file system of type %s does not show its device", fs.Type)
	}
}

func (s System) underBtrfs(fs Filesystem) ([]result.Device, string) {
	dir := s.btrfsDir(fs.Source)
	if dir == "" {
		return nil, fmt.Sprintf("/sys/fs/btrfs does not show the btrfs of %s", fs.Source)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "devices"))
	if err != nil {
		return nil, err.Error()
	}
	w := walk{system: s}
	for _, entry := range entries {
		w.visit(filepath.Join(dir, "devices", entry.Name()), 0)
	}
	return w.result()
}

func (s System) underOverlay(fs Filesystem, depth int) ([]result.Device, string) {
	upper := fs.option("upperdir")
	below, err := s.Filesystem(upper)
	if upper == "" || err != nil || depth == maxDepth || below.MountPoint == fs.MountPoint || below.Type == "overlay" {
		return nil, "the upper directory of the overlay is not visible from here"
	}
	return s.underFilesystem(below, depth+1)
}

// UnderNumber returns the leaf disks under a block device.
func (s System) UnderNumber(major, minor int) ([]result.Device, string) {
	w := walk{system: s}
	w.visit(s.path("sys/dev/block", deviceNumber(major, minor)), 0)
	return w.result()
}

// walk collects leaf disks and notes.
type walk struct {
	system System
	leaves []result.Device
	notes  []string
}

func (w *walk) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

func (w *walk) result() ([]result.Device, string) {
	slices.SortFunc(w.leaves, func(a, b result.Device) int { return strings.Compare(a.Name, b.Name) })
	w.leaves = slices.CompactFunc(w.leaves, func(a, b result.Device) bool { return a.Name == b.Name })
	slices.Sort(w.notes)
	return w.leaves, strings.Join(slices.Compact(w.notes), "; ")
}

// visit follows the sysfs directory of a block device down to its leaf disks.
func (w *walk) visit(link string, depth int) {
	dir, err := filepath.EvalSymlinks(link)
	if err != nil || depth > maxDepth {
		w.note("sysfs does not show device %s", filepath.Base(link))
		return
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	slaves, err := os.ReadDir(filepath.Join(dir, "slaves"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.note("%v", err)
	}
	if len(slaves) > 0 {
		for _, slave := range slaves {
			w.visit(filepath.Join(dir, "slaves", slave.Name()), depth+1)
		}
		return
	}
	d := describe(dir)
	w.leaves = append(w.leaves, d)
	if kind := remote(d.Name, dir); kind != "" {
		w.note("%s is %s: its disks are on another machine and cannot be watched from here", d.Name, kind)
	}
	if strings.HasPrefix(d.Name, "zd") {
		w.note("%s is a ZFS volume: sysfs does not show the disks of its pool", d.Name)
	}
	if d.Backing != "" {
		w.note("%s is a loop device on the file %s", d.Name, d.Backing)
	}
}

// settings are the attributes of a queue that change what a benchmark measures.
var settings = []string{
	"scheduler", "nr_requests", "write_cache", "fua", "rotational", "read_ahead_kb", "nomerges", "rq_affinity",
	"wbt_lat_usec", "max_sectors_kb", "max_hw_sectors_kb", "logical_block_size", "physical_block_size",
	"minimum_io_size", "optimal_io_size", "discard_max_bytes", "io_poll", "iostats", "zoned", "dax", "stable_writes",
}

// describe reads a disk's description from sysfs. It leaves out what it cannot
// read.
func describe(dir string) result.Device {
	d := result.Device{
		Name:    filepath.Base(dir),
		Model:   strings.TrimSpace(attribute(dir, "device/vendor") + " " + attribute(dir, "device/model")),
		Backing: attribute(dir, "loop/backing_file"),
		Queue:   map[string]string{},
	}
	if sectors, err := strconv.ParseUint(attribute(dir, "size"), 10, 54); err == nil {
		d.SizeBytes = sectors * 512 // sysfs counts sectors of 512 bytes, whatever the disk's sector size
	}
	for _, name := range settings {
		if v := attribute(dir, "queue/"+name); v != "" {
			d.Queue[name] = v
		}
	}
	if v := attribute(dir, "device/queue_depth"); v != "" {
		d.Queue["device_queue_depth"] = v
	}
	if caches, _ := filepath.Glob(filepath.Join(dir, "device/scsi_disk/*/cache_type")); len(caches) == 1 {
		d.Queue["cache_type"] = attribute(filepath.Dir(caches[0]), "cache_type")
	}
	return d
}

func attribute(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
