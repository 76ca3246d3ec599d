package observe

import (
	"os"
	"path/filepath"
	"strings"
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
	if strings.TrimSpace(read(root, filepath.Join(dir, "queue/iostats"))) == "0" && !exists(root, filepath.Join(dir, "mm_stat")) {
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

func exists(root, path string) bool {
	_, err := os.Stat(filepath.Join("/", root, path))
	return err == nil
}
