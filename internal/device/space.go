package device

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Space returns the size of the file system at path and what a user may still
// write to it, in bytes.
func Space(path string) (size, free uint64, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, 0, fmt.Errorf("device: statfs %s: %w", path, err)
	}
	unit := uint64(fs.Frsize) // where they differ, Bsize is the preferred size of a transfer
	if unit == 0 {
		unit = uint64(fs.Bsize)
	}
	return fs.Blocks * unit, fs.Bavail * unit, nil
}

// Size returns the size of a block device in bytes.
func Size(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("device: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	n, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("device: the size of %s: %w", path, err)
	}
	return uint64(n), nil
}

// DropCache drops what the page cache holds of a block device, after it was written back.
// Without the privilege to flush the device, it asks the kernel to drop the pages that nobody
// uses, which needs none.
func DropCache(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("device: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.BLKFLSBUF, 0)
	switch errno {
	case 0:
		return nil
	case unix.EACCES, unix.EPERM:
		if err := f.Sync(); err != nil {
			return fmt.Errorf("device: %w", err)
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return fmt.Errorf("device: dropping the page cache of %s: %w", path, err)
		}
		return nil
	default:
		return fmt.Errorf("device: flushing %s: %w", path, errno)
	}
}
