package observe

import (
	"bytes"
	"os"
	"path/filepath"
)

// kept tells which counters the kernel keeps. One that it does not keep reads 0, or is not there,
// and says nothing of what a disk did.
type kept [fields]bool

// keptOf returns which counters the kernel keeps of a disk whose stat file has so many columns.
//
//   - Linux before 4.18 has no columns of discards, and before 5.5 none of flushes.
//   - With queue/iostats = 0 no request is counted. zram counts all the same, as it has no requests.
//   - Flushes are counted by the layer of requests only: not for drivers that take bios, which have no
//     directory mq.
func keptOf(root, name string, columns int) kept {
	var k kept
	dir := filepath.Join("sys/block", name)
	if turnedOff([]byte(read(root, switchOf(root, name)))) {
		return k
	}
	for i := range min(columns, fields) {
		k[i] = true
	}
	if exists(root, filepath.Join(dir, "queue")) && !exists(root, filepath.Join(dir, "mq")) {
		k[flushIOs], k[flushTicks] = false, false
	}
	return k
}

// switchOf is the file that turns the counters of a disk on and off; empty: nothing does.
func switchOf(root, name string) string {
	dir := filepath.Join("sys/block", name)
	if exists(root, filepath.Join(dir, "mm_stat")) { // zram
		return ""
	}
	return filepath.Join(dir, "queue/iostats")
}

// turnedOff reports whether that is what the file says.
func turnedOff(text []byte) bool { return string(bytes.TrimSpace(text)) == "0" }

func exists(root, path string) bool {
	_, err := os.Stat(filepath.Join("/", root, path))
	return err == nil
}
