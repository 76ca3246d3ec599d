package native

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DropPages writes back what the page cache holds of a file or device and has the
// kernel drop it. Pages that somebody has locked or mapped stay, and so do those of a
// file system in memory: see Resident.
func DropPages(fd int) error {
	if err := unix.Fdatasync(fd); err != nil {
		return fmt.Errorf("fdatasync: %w", err)
	}
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
		return fmt.Errorf("posix_fadvise: %w", err)
	}
	return nil
}

// window is how much of a file is mapped at once to look for its pages.
const window = 1 << 30

// Resident counts the pages of the first size bytes that are in the page cache.
// Mapping a file does not read it.
func Resident(fd int, size int64) (in, all int64, err error) {
	page := int64(os.Getpagesize())
	vec := make([]byte, (min(size, window)+page-1)/page)
	for at := int64(0); at < size; at += window {
		m, err := unix.Mmap(fd, at, int(min(size-at, window)), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return 0, 0, fmt.Errorf("mmap: %w", err)
		}
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(m))), uintptr(len(m)), uintptr(unsafe.Pointer(unsafe.SliceData(vec))))
		if err := unix.Munmap(m); err != nil {
			return 0, 0, fmt.Errorf("munmap: %w", err)
		}
		if errno != 0 {
			return 0, 0, fmt.Errorf("mincore: %w", errno)
		}
		pages := (int64(len(m)) + page - 1) / page
		for _, v := range vec[:pages] {
			in += int64(v & 1)
		}
		all += pages
	}
	return in, all, nil
}
