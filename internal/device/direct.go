package device

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/result"
)

const (
	probeSize = 256 << 10
	zfsMagic  = 0x2fc12fc1
	// mostProbes is how often pages must be found in the page cache. btrfs writes data that has checksums by
	// way of it, drops what it can at once, and leaves the rest when something holds it.
	mostProbes = 3
)

// ProbeDirect finds out what direct I/O does in a directory: it writes and reads
// a small file with O_DIRECT and then asks the kernel which of its pages are in
// the page cache. It follows loop devices down to the disk, whose files have a page
// cache of their own. It returns the mode and the evidence for it.
func ProbeDirect(dir string) (result.DirectMode, string) {
	path := filepath.Join(dir, ".direct-probe")
	defer func() { _ = os.Remove(path) }() // it is missing if it could not be created
	buffer, err := aligned()
	if err != nil {
		return result.DirectUnknown, err.Error()
	}
	defer func() { _ = unix.Munmap(buffer) }()
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC|unix.O_DIRECT|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EINVAL) {
		return result.DirectRefused, "open with O_DIRECT: " + err.Error()
	}
	if err != nil {
		return result.DirectUnknown, "open with O_DIRECT: " + err.Error()
	}
	defer func() { _ = unix.Close(fd) }() // the file is removed anyway
	if refused, why := transfer(fd, buffer); refused != "" {
		return refused, why
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err == nil {
		switch fs.Type {
		case zfsMagic:
			return result.DirectUnknown, "ZFS accepts O_DIRECT, but may still cache in its ARC, which is not the page cache"
		case unix.FUSE_SUPER_MAGIC:
			return result.DirectUnknown, "the kernel passes O_DIRECT on to the program that keeps the files (FUSE), which may answer from memory"
		}
	}
	in, pages, err := resident(fd)
	for again := 1; again < mostProbes && err == nil && in > pages/2; again++ {
		if refused, why := transfer(fd, buffer); refused != "" {
			return refused, why
		}
		in, pages, err = resident(fd)
	}
	switch {
	case err != nil:
		return result.DirectUnknown, "mincore: " + err.Error()
	case in > pages/2:
		return result.CachedAnyway, fmt.Sprintf("%d of %d pages written and read with O_DIRECT are in the page cache", in, pages)
	default:
		return followed(System{}.pathLayers(dir))(fmt.Sprintf("%d of %d pages written and read with O_DIRECT are in the page cache", in, pages))
	}
}

// transfer writes the buffer to a file and reads it. Without an error, refused is empty.
func transfer(fd int, buffer []byte) (refused result.DirectMode, why string) {
	if _, err := unix.Pwrite(fd, buffer, 0); err != nil {
		return refusedIO("write", err)
	}
	if _, err := unix.Pread(fd, buffer, 0); err != nil {
		return refusedIO("read", err)
	}
	return "", ""
}

func refusedIO(what string, err error) (result.DirectMode, string) {
	if errors.Is(err, unix.EINVAL) {
		return result.DirectRefused, what + " with O_DIRECT: " + err.Error()
	}
	return result.DirectUnknown, what + " with O_DIRECT: " + err.Error()
}

// ProbeDirectDevice finds out whether a block device can be read with O_DIRECT,
// which then bypasses its page cache by definition, and follows loop devices as
// ProbeDirect does.
func ProbeDirectDevice(path string) (result.DirectMode, string) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return refusedIO("open", err)
	}
	defer func() { _ = unix.Close(fd) }() // it was only read
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_DIRECT == 0 {
		return result.DirectUnknown, "the kernel does not confirm O_DIRECT"
	}
	buffer, err := aligned()
	if err != nil {
		return result.DirectUnknown, err.Error()
	}
	defer func() { _ = unix.Munmap(buffer) }()
	if _, err := unix.Pread(fd, buffer[:4096], 0); err != nil {
		return refusedIO("read", err)
	}
	return followed(System{}.pathLayers(path))("the device was read with O_DIRECT, and F_GETFL confirms it")
}

// aligned returns memory that direct I/O accepts, with random content.
func aligned() ([]byte, error) {
	b, err := unix.Mmap(-1, 0, probeSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("device: mmap: %w", err)
	}
	_, _ = rand.Read(b) // never fails
	return b, nil
}

// resident counts the pages of a file that are in the page cache. Mapping a file
// does not read it.
func resident(fd int) (in, all int, err error) {
	m, err := unix.Mmap(fd, 0, probeSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = unix.Munmap(m) }()
	vec := make([]byte, probeSize/os.Getpagesize())
	if err := mincore(m, vec); err != nil {
		return 0, 0, err
	}
	for _, v := range vec {
		in += int(v & 1)
	}
	return in, len(vec), nil
}
