package native

import (
	"fmt"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below go straight to the kernel: the thread keeps its P meanwhile. Each
// returns 0 for success. EINTR cannot come: file systems' calls are not interrupted
// by signals that are restarted, as those of the Go runtime are.

// Path returns the C string of a path, to be made before the clock starts.
func Path(elements ...string) *byte {
	b := append([]byte(filepath.Join(elements...)), 0)
	return &b[0]
}

// Open opens or creates a file with mode 0600.
func Open(path *byte, flags int) (fd int, errno unix.Errno) {
	return OpenAt(unix.AT_FDCWD, path, flags)
}

// OpenAt is Open of a path that begins at the directory dir: the kernel has fewer
// names to look up.
func OpenAt(dir int, path *byte, flags int) (fd int, errno unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(path)), uintptr(flags|unix.O_CLOEXEC), 0o600, 0, 0)
	return int(n), errno
}

// OpenDirectory opens a directory for OpenAt and UnlinkAt. Each thread has one of its
// own, as the kernel counts the uses of one that is shared.
func OpenDirectory(path string) (fd int, err error) {
	fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	return fd, nil
}

// Close closes a file. On some file systems it is what reports a failed write.
func Close(fd int) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	return errno
}

// Read reads up to len(b) bytes; 0 is the end of the file.
func Read(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}

// Write writes all of b. A write that is cut short is carried on, as the kernel does
// so before it says what is wrong.
func Write(fd int, b []byte) unix.Errno {
	for len(b) > 0 {
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		if errno != 0 {
			return errno
		}
		if n == 0 {
			return unix.EIO
		}
		b = b[n:]
	}
	return 0
}

// Pread reads len(b) bytes at an offset, or fewer if the file ends before.
func Pread(fd int, b []byte, offset int64) (int, unix.Errno) {
	all := len(b)
	for len(b) > 0 {
		n, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), uintptr(offset), 0, 0)
		if errno != 0 {
			return all - len(b), errno
		}
		if n == 0 {
			break
		}
		b, offset = b[n:], offset+int64(n)
	}
	return all - len(b), 0
}

// Pwrite is Write at an offset.
func Pwrite(fd int, b []byte, offset int64) unix.Errno {
	for len(b) > 0 {
		n, _, errno := unix.RawSyscall6(unix.SYS_PWRITE64, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), uintptr(offset), 0, 0)
		if errno != 0 {
			return errno
		}
		if n == 0 {
			return unix.EIO
		}
		b, offset = b[n:], offset+int64(n)
	}
	return 0
}

// UnlinkAt removes a file, whose path begins at the directory dir.
func UnlinkAt(dir int, path *byte) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_UNLINKAT, uintptr(dir), uintptr(unsafe.Pointer(path)), 0)
	return errno
}

// Fsync makes a file durable: its data and everything that is known of it.
func Fsync(fd int) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_FSYNC, uintptr(fd), 0, 0)
	return errno
}

// Fdatasync makes a file's data durable, and of the rest what it takes to read them.
func Fdatasync(fd int) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_FDATASYNC, uintptr(fd), 0, 0)
	return errno
}

// Syncfs makes everything durable that the file system of an open file holds.
func Syncfs(fd int) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_SYNCFS, uintptr(fd), 0, 0)
	return errno
}

// Drain makes everything durable that the file system of dir holds, with what other
// programs have written there, and returns how long that took.
func Drain(dir string) (time.Duration, error) {
	fd, err := OpenDirectory(dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }() // it was only read
	clock := NewClock()
	if err := unix.Fsync(fd); err != nil {
		return 0, fmt.Errorf("fsync %s: %w", dir, err)
	}
	if err := unix.Syncfs(fd); err != nil {
		return 0, fmt.Errorf("syncfs %s: %w", dir, err)
	}
	return clock.Now(), nil
}

// sleep sleeps for a time, or for less if a signal comes.
func sleep(ts *unix.Timespec) {
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(ts)), 0, 0) // the caller looks at the clock
}
