package blockio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxDisks is how many disks are observed at most. The programs compare each request's disk with
// all of them.
const maxDisks = 32

// Disk is a disk whose requests can be observed.
type Disk struct {
	// Name in /sys/block.
	Name string
	// number as the kernel writes it in struct gendisk: major<<20 | minor.
	number uint32
	// requests that it can hold at a time.
	requests int
	// stat is the file of the kernel's counters.
	stat string
}

// Disks returns those of the disks that take requests, and why others do not. root is / or, in
// tests, a directory with a sysfs tree.
func Disks(root string, names []string) (disks []Disk, unseen []string) {
	for _, name := range names {
		d, err := readDisk(filepath.Join("/", root, "sys/block", name), name)
		if err != nil {
			unseen = append(unseen, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		disks = append(disks, d)
	}
	return disks, unseen
}

var errBios = errors.New("it takes I/O without requests (no mq in /sys/block), which the tracepoints do not see")

func readDisk(dir, name string) (Disk, error) {
	major, minor, ok := strings.Cut(text(dir, "dev"), ":")
	m, errMajor := strconv.ParseUint(major, 10, 12)
	n, errMinor := strconv.ParseUint(minor, 10, minorBits)
	if err := errors.Join(errMajor, errMinor); !ok || err != nil {
		return Disk{}, errors.New("it has no device number in /sys/block")
	}
	queues, err := os.ReadDir(filepath.Join(dir, "mq"))
	if err != nil || len(queues) == 0 {
		return Disk{}, errBios
	}
	depth, err := strconv.Atoi(text(dir, "queue/nr_requests"))
	if err != nil {
		depth = 256 // the most that most drivers have
	}
	// Requests of the scheduler's, and of the driver's, and one for each queue's flushes.
	return Disk{Name: name, number: uint32(m<<minorBits | n), requests: len(queues) * (2*min(max(depth, 1), maxRequests) + 1), stat: filepath.Join(dir, "stat")}, nil
}

func text(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
