package apart

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/nofollow"
)

const (
	// mountPoint is the directory that holds everything that an engine may use. Every system
	// has it. In the engine's namespace, the mount hides what is there otherwise.
	mountPoint = "/mnt"
	// nodes is the directory below it with the device's node.
	nodes = "dev"
)

// confinement lists what an engine may use.
type confinement struct {
	// User to become; 0: only give up the capabilities.
	User   int     `json:"user,omitempty"`
	Places []place `json:"places,omitempty"`
	Node   *node   `json:"node,omitempty"`
}

// place is a directory that the engine may write to.
type place struct {
	Name string `json:"name"` // below mountPoint
	Path string `json:"path"` // without links
	// Device and Inode identify the directory.
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// node is a block device that the engine may use.
type node struct {
	Name   string `json:"name"`
	Number uint64 `json:"number"`
}

// confine takes from this process what an engine may not have, and starts the program again.
// It returns only if it fails. It works in one thread, the one that is left when the program
// starts.
func confine(text, engine string) error {
	runtime.LockOSThread()
	var c confinement
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return fmt.Errorf("confinement: %w", err)
	}
	if err := dieWithRunner(); err != nil {
		return err
	}
	// If the node is short of memory, the kernel kills the engine before the runner, which
	// has settings to restore. At the container's own limit, a kubelet that sets
	// memory.oom.group has it kill both: then the successor or a restore Job restores them.
	// And an engine gets no file of the runner's that may have been left open. The trial does
	// not depend on either.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	_ = unix.CloseRange(resultFile+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if c.User != 0 {
		if err := c.mounts(); err != nil {
			return err
		}
		if err := become(c.User); err != nil {
			return err
		}
	}
	if err := giveUp(); err != nil {
		return err
	}
	// Changing the user has cleared the signal.
	if err := dieWithRunner(); err != nil {
		return err
	}
	return fmt.Errorf("exec: %w", syscall.Exec("/proc/self/exe", []string{program, Command, engine}, os.Environ()))
}

// dieWithRunner makes the kernel kill this process when the runner dies.
func dieWithRunner() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_PDEATHSIG: %w", err)
	}
	// If it has died before, nobody reads the result.
	fds := []unix.PollFd{{Fd: resultFile}}
	if _, err := unix.Poll(fds, 0); err == nil && fds[0].Revents&unix.POLLERR != 0 {
		return errors.New("the runner is gone")
	}
	return nil
}

// closed are the flags of the mounts on which the engine's device nodes are.
const closed = unix.MS_NOSUID | unix.MS_NOEXEC

// mounts makes the namespace's mounts read-only and their device nodes useless, and adds what
// the engine may use.
func (c confinement) mounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	// Open them first: they may be below mountPoint, which is hidden soon.
	dirs := make([]*os.File, len(c.Places))
	for i, p := range c.Places {
		var err error
		if dirs[i], err = p.open(); err != nil {
			return err
		}
	}
	if err := readOnly(); err != nil {
		return err
	}
	if err := ownSystem(); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", mountPoint, "tmpfs", closed, "mode=0711,size=64k,nr_inodes=64"); err != nil {
		return fmt.Errorf("tmpfs on %s: %w", mountPoint, err)
	}
	for i, p := range c.Places {
		if err := mount(dirs[i], filepath.Join(mountPoint, p.Name)); err != nil {
			return err
		}
	}
	if c.Node != nil {
		if err := c.Node.make(c.User); err != nil {
			return err
		}
	}
	if err := unix.Mount("", mountPoint, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|closed, ""); err != nil {
		return fmt.Errorf("%s: %w", mountPoint, err)
	}
	return nil
}

// open opens the directory in this process's mounts, and fails if it was replaced.
func (p place) open() (*os.File, error) {
	dir, err := nofollow.Open(p.Path)
	if err != nil {
		return nil, err
	}
	var found unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &found); err != nil {
		return nil, fmt.Errorf("stat %s: %w", p.Path, err)
	}
	if found.Dev != p.Device || found.Ino != p.Inode {
		return nil, fmt.Errorf("%s was replaced by another directory", p.Path)
	}
	return dir, nil
}

// noSymFollow is MS_NOSYMFOLLOW of Linux 5.10. An older kernel ignores the flag; there, the
// permissions of the engine's user limit what it can reach through a link.
const noSymFollow = 0x100

// mount mounts an open directory at a new one, without devices, set-user-ID and links.
func mount(dir *os.File, at string) error {
	if err := os.Mkdir(at, 0o700); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", dir.Name(), at, err)
	}
	// This leaves the mount's handling of access times as it is.
	if err := unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NODEV|unix.MS_NOSUID|unix.MS_NOEXEC|noSymFollow, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", dir.Name(), at, err)
	}
	return dir.Close()
}

// make makes the node, which only the user can open.
func (n *node) make(user int) error {
	path := filepath.Join(mountPoint, nodes, n.Name)
	if err := os.Mkdir(filepath.Dir(path), 0o711); err != nil {
		return err
	}
	if err := unix.Mknod(path, unix.S_IFBLK|0o600, int(n.Number)); err != nil {
		return fmt.Errorf("mknod %s: %w", path, err)
	}
	return os.Chown(path, user, user)
}

// harmless are the devices in the engine's /dev.
var harmless = map[string]uint64{
	"null": unix.Mkdev(1, 3), "zero": unix.Mkdev(1, 5), "full": unix.Mkdev(1, 7), "random": unix.Mkdev(1, 8), "urandom": unix.Mkdev(1, 9),
}

// ownSystem mounts a /proc with the engine's own processes only and a /dev with harmless
// devices only. The runner's may have those of the node.
func ownSystem() error {
	if err := unix.Mount("proc", "/proc", "proc", closed|unix.MS_NODEV|unix.MS_RDONLY, "hidepid=2"); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	const dev = "/dev"
	if err := unix.Mount("tmpfs", dev, "tmpfs", closed, "mode=0755,size=64k,nr_inodes=64"); err != nil {
		return fmt.Errorf("tmpfs on %s: %w", dev, err)
	}
	for name, number := range harmless {
		path := filepath.Join(dev, name)
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(number)); err != nil {
			return fmt.Errorf("mknod %s: %w", path, err)
		}
		if err := os.Chmod(path, 0o666); err != nil { // whatever the umask is
			return err
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	if err := unix.Mount("", dev, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|closed, ""); err != nil {
		return fmt.Errorf("read-only %s: %w", dev, err)
	}
	return nil
}

// readOnly makes all mounts read-only, and prevents the use of device nodes on them.
func readOnly() error {
	attributes := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV}
	return readOnlyOr(unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &attributes), readOnlyEach)
}

// readOnlyOr uses each if the kernel does not have mount_setattr, or a seccomp profile that
// does not know the call answers EPERM in its place.
func readOnlyOr(err error, each func() error) error {
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return each()
	case err != nil:
		return fmt.Errorf("read-only mounts: %w", err)
	}
	return nil
}

// readOnlyEach is readOnly for kernels before 5.12, which take one mount at a time.
func readOnlyEach() error {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return fmt.Errorf("read-only mounts: %w", err)
	}
	for _, m := range mounts {
		flags := uintptr(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY | unix.MS_NODEV)
		for option := range strings.SplitSeq(m.Options, ",") {
			flags |= map[string]uintptr{"nosuid": unix.MS_NOSUID, "noexec": unix.MS_NOEXEC}[option]
		}
		err := unix.Mount("", m.Mountpoint, "", flags, "")
		// Nobody can reach a mount that another one hides.
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
			return fmt.Errorf("read-only %s: %w", m.Mountpoint, err)
		}
	}
	return nil
}

// become changes this thread's user and group to the engine's, drops its other groups, and
// drops all capabilities for good.
func become(user int) error {
	for c := uintptr(0); isCapability(c); c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("PR_CAPBSET_DROP %d: %w", c, err)
		}
	}
	id := uintptr(user)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return fmt.Errorf("setgroups: %w", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, id, id, id); errno != 0 {
		return fmt.Errorf("setresgid: %w", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id); errno != 0 {
		return fmt.Errorf("setresuid: %w", errno)
	}
	return nil
}

// isCapability reports whether the kernel knows a capability.
func isCapability(c uintptr) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, c, 0)
	return errno == 0
}

// giveUp gives up this thread's capabilities, and prevents it from gaining new ones.
func giveUp() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_CAP_AMBIENT_CLEAR_ALL: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if _, _, errno := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return fmt.Errorf("capset: %w", errno)
	}
	// Without it, root would get them back by starting a program.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_NO_NEW_PRIVS: %w", err)
	}
	return nil
}
