//go:build truth

package truth

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// storage is a device, a file system with an option on it or none (a raw device), and what lies over it.
type storage struct{ device, kind, option, over string }

func (s *storage) String() string {
	return strings.Join(slices.DeleteFunc([]string{s.device, s.kind, s.option, s.over}, func(part string) bool { return part == "" }), " / ")
}

func chooseStorage(r *rand.Rand) *storage {
	s := &storage{device: pick(r,
		"a disk", "a disk", "a disk", "a loop device on a block device", "a loop device through the page cache", "zram", "a loop device whose file is in memory")}
	if r.IntN(6) == 0 {
		return s
	}
	s.kind = pick(r, "ext4", "ext4", "xfs", "btrfs", "btrfs")
	if s.memory() && s.kind == "xfs" {
		s.kind = "ext4" // XFS takes 300 MiB
	}
	s.option = pick(r, map[string][]string{
		"ext4":  {"", "", "barrier=0", "data=journal", "noatime,commit=1"},
		"xfs":   {"", "noatime", "wsync"},
		"btrfs": {"", "nodatacow", "nodatacow", "compress=zstd", "nodatasum,nobarrier"},
	}[s.kind]...)
	s.over = pick(r, "", "", "", "an overlay", "an overlay with volatile", "bindfs", "a bind mount")
	return s
}

// tight: it copies what is overwritten, and has no room for all that a job writes through mapped files before that is freed.
func (s *storage) tight(j *job) bool { return s.kind == "btrfs" && j.engine == "mmap" }

func (s *storage) block() bool { return s.kind == "" }

func (s *storage) memory() bool {
	return s.device == "zram" || s.device == "a loop device whose file is in memory"
}

// unsafe: a sync does not reach the disk, or an acknowledged write may be lost.
func (s *storage) unsafe() bool {
	return strings.Contains(s.option, "barrier") || s.over == "an overlay with volatile"
}

func (s *storage) compresses() bool { return strings.Contains(s.option, "compress") }

// journalsData: what is written passes through the page cache, whatever is asked for.
func (s *storage) journalsData() bool { return s.option == "data=journal" }

// copies: what is written goes elsewhere, with a checksum, by way of the page cache.
func (s *storage) copies() bool { return s.kind == "btrfs" && !strings.Contains(s.option, "nodatacow") }

// zeros makes a file of so many bytes that are all written, and 0.
func zeros(t *testing.T, dir string, size int) string {
	t.Helper()
	path := filepath.Join(dir, "disk.img")
	devicetest.Run(t, "dd", "if=/dev/zero", "of="+path, "bs=1M", fmt.Sprintf("count=%d", size>>20), "conv=fsync", "status=none")
	return path
}

// make makes the storage, and returns the target and the device on which it is.
func (s *storage) make(t *testing.T) (target, device string) {
	t.Helper()
	image := file
	if s.block() {
		image = zeros // what has data is not overwritten
	}
	switch s.device {
	case "a disk":
		device = devicetest.Attach(t, image(t, scratch(t), 512<<20), "--direct-io=on")
	case "a loop device on a block device":
		device = devicetest.Attach(t, devicetest.Attach(t, image(t, scratch(t), 512<<20), "--direct-io=on"), "--direct-io=on")
	case "a loop device through the page cache":
		device = devicetest.Attach(t, image(t, scratch(t), 512<<20), "--direct-io=off")
	case "zram":
		device = zram(t)
	default:
		device = devicetest.Attach(t, image(t, memory(t), 512<<20))
	}
	if s.block() {
		return device, device
	}
	format(t, s.kind, device)
	option := s.option
	if option == "" {
		option = "rw"
	}
	target = mount(t, s.kind, device, "-o", option)
	switch s.over {
	case "an overlay":
		target = overlay(t, target)
	case "an overlay with volatile":
		target = overlay(t, target, "volatile")
	case "bindfs":
		target = bindfs(t, target)
	case "a bind mount":
		dir := t.TempDir()
		devicetest.Run(t, "mount", "--bind", target, dir)
		undo(t, "umount", dir)
		target = dir
	}
	return target, filepath.Clean(device)
}
