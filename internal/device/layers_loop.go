package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/result"
)

// removed ends the path of a file that was removed while it was open.
const removed = " (deleted)"

// loop follows a loop device to what holds its file, or to the block device that it has instead of a
// file.
//
// The kernel gives the file's path as in the mount namespace of whoever attached it, which
// need not be ours. Who may open the device also learns the file's own device and inode, and
// is not misled.
func (st *stack) loop(at int) {
	name, path := st.layers[at].ID, st.layers[at].Source
	before, gone := strings.CutSuffix(path, removed)
	asked, sure := st.system.askLoop(name)
	here := st.system.visible(path, asked, sure)
	if !sure {
		asked.device, _ = st.system.deviceAt(path)
	}
	switch {
	case asked.device != "":
		st.number(at, asked.device)
	case path == "":
		st.note(at, "sysfs shows no file of this loop device")
	case strings.HasPrefix(path, "/memfd:") && gone:
		st.put(at, st.add(result.Layer{ID: "file:" + path, Kind: result.MemoryLayer, Type: "memfd", Source: path, InMemory: true}, nil))
	case here:
		st.file(at, path)
	case sure:
		st.loopNumber(at, asked)
	case gone && exists(st.system.path(filepath.Dir(before))):
		st.file(at, filepath.Dir(before)) // a file is on its directory's file system
	default:
		st.hidden(at, path, "the file "+path+" is not visible from here, so what it is on is not known")
	}
}

// loopNumber follows the file system with a device number, which holds a file whose path
// leads nowhere.
func (st *stack) loopNumber(at int, file loopFile) {
	for _, m := range st.mounts {
		if m.Major == file.major && m.Minor == file.minor && st.put(at, st.filesystem(m)) {
			return
		}
	}
	path := st.layers[at].Source
	l := result.Layer{
		ID: "file:" + path, Kind: result.UnknownLayer, Type: "file", Source: path,
		Note: fmt.Sprintf("the file %s is on a file system that is not visible from here, on device %d:%d", path, file.major, file.minor),
	}
	st.put(at, st.add(l, func(at int) {
		if file.major != 0 {
			st.number(at, deviceNumber(file.major, file.minor))
		}
	}))
}

// loopFile is the file of a loop device: on which device it is, and its inode there.
type loopFile struct {
	major, minor int
	inode        uint64
	// device is the number of the block device that it is, or empty.
	device string
}

// visible reports whether a path leads to the file of a loop device. Unless we are sure which
// file that is, it is enough that there is one.
func (s System) visible(path string, file loopFile, sure bool) bool {
	info, err := os.Stat(s.path(path))
	if err != nil || !sure {
		return err == nil || errors.Is(err, fs.ErrPermission) && !sure
	}
	var stat unix.Stat_t
	if unix.Stat(s.path(path), &stat) != nil {
		return false
	}
	return info.Mode().IsRegular() && stat.Ino == file.inode && int(unix.Major(stat.Dev)) == file.major && int(unix.Minor(stat.Dev)) == file.minor
}

// askLoop asks a loop device for its file.
func (s System) askLoop(name string) (file loopFile, ok bool) {
	f, err := os.Open(s.path("dev", name))
	if err != nil {
		return loopFile{}, false
	}
	defer func() { _ = f.Close() }() // it was only asked
	info, err := unix.IoctlLoopGetStatus64(int(f.Fd()))
	if err != nil {
		return loopFile{}, false
	}
	file = loopFile{major: int(unix.Major(info.Device)), minor: int(unix.Minor(info.Device)), inode: info.Inode}
	if info.Rdevice != 0 {
		file.device = deviceNumber(int(unix.Major(info.Rdevice)), int(unix.Minor(info.Rdevice)))
	}
	return file, true
}

// deviceAt returns the number of the block device whose node is at a path.
func (s System) deviceAt(path string) (number string, ok bool) {
	major, minor, ok := s.node(path)
	if !ok {
		return "", false
	}
	return deviceNumber(major, minor), true
}

// node returns the number of a block device's node.
func (s System) node(path string) (major, minor int, ok bool) {
	var stat unix.Stat_t
	if !filepath.IsAbs(path) || unix.Stat(s.path(path), &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFBLK {
		return 0, 0, false
	}
	return int(unix.Major(stat.Rdev)), int(unix.Minor(stat.Rdev)), true
}
