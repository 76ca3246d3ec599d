package device

import (
	"encoding/hex"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests that btrfs answers, of linux/btrfs.h. Each takes 1 KiB.
const (
	btrfsRequest = 1 << 10
	// btrfsFSInfo is BTRFS_IOC_FS_INFO: _IOR(0x94, 31, struct btrfs_ioctl_fs_info_args).
	btrfsFSInfo = 2<<30 | btrfsRequest<<16 | 0x94<<8 | 31
	// btrfsScrubProgress is BTRFS_IOC_SCRUB_PROGRESS: _IOWR(0x94, 29, struct btrfs_ioctl_scrub_args).
	btrfsScrubProgress = 3<<30 | btrfsRequest<<16 | 0x94<<8 | 29
	// maxBtrfsID bounds which devices are asked for. A file system gives each new one the next number.
	maxBtrfsID = 1 << 14
)

// btrfsInfo is what a btrfs says of itself.
type btrfsInfo struct {
	maxID, devices uint64
	uuid           [16]byte
	_              [btrfsRequest - 32]byte
}

// btrfsScrub asks for the scrub of a device; what the kernel answers is not needed.
type btrfsScrub struct {
	id uint64
	_  [btrfsRequest - 8]byte
}

// scrubbed reports whether a device of the btrfs with a UUID, which is mounted on a directory, is
// being scrubbed. The kernel tells that only to those that have CAP_SYS_ADMIN.
func scrubbed(dir, uuid string) bool {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }() // it was only asked
	// Another file system can be mounted over it, which may understand these requests otherwise.
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil || fs.Type != unix.BTRFS_SUPER_MAGIC {
		return false
	}
	var info btrfsInfo
	if errno := ask(fd, btrfsFSInfo, unsafe.Pointer(&info)); errno != 0 || hex.EncodeToString(info.uuid[:]) != strings.ReplaceAll(uuid, "-", "") {
		return false
	}
	devices := uint64(0)
	for id := uint64(1); id <= min(info.maxID, maxBtrfsID) && devices < info.devices; id++ {
		switch ask(fd, btrfsScrubProgress, unsafe.Pointer(&btrfsScrub{id: id})) {
		case 0:
			return true
		case unix.ENODEV: // it was removed
		case unix.ENOTCONN: // it is not being scrubbed
			devices++
		default:
			return false
		}
	}
	return false
}

// ask sends a request to the file system of an open directory.
func ask(fd int, request uintptr, argument unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument))
	return errno
}
