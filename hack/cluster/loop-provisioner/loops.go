package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// releaseWait bounds the wait for a kubelet that is still unmounting. The
// controller tries again afterwards, so it only saves a line in the log.
const releaseWait = 5 * time.Second

// loopMajor is the major number of loop devices, fixed in the kernel.
const loopMajor = 7

// loops makes and removes loop devices whose files are under dir. A device is
// always found by its backing file, never by its number: numbers are reused.
type loops struct {
	dir string
	// attaching serialises the choice of a free device in this process.
	attaching *sync.Mutex
}

func newLoops(dir string) loops {
	return loops{dir: filepath.Clean(dir), attaching: &sync.Mutex{}}
}

func (l loops) file(node, name string) (string, error) {
	for _, part := range []string{node, name} {
		if part == "" || part == ".." || strings.ContainsAny(part, "/\x00") {
			return "", fmt.Errorf("%q cannot be part of a file's path", part)
		}
	}
	return filepath.Join(l.dir, node, name+".img"), nil
}

// create makes file, device and file system, and is safe to repeat: a call
// that finds the device of an earlier one returns it.
func (l loops) create(ctx context.Context, v volume) (device string, err error) {
	file, err := l.file(v.node, v.name)
	if err != nil {
		return "", err
	}
	if device, err = attachedTo(file); err != nil || device != "" {
		return device, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.discard(ctx, file))
		}
	}()
	if err = allocate(file, v.bytes, v.preallocate); err != nil {
		return "", err
	}
	if device, err = l.attach(ctx, file); err != nil {
		return "", err
	}
	return device, format(ctx, device, v)
}

// remove is the reverse of create, and is also safe to repeat.
func (l loops) remove(ctx context.Context, node, name string) error {
	file, err := l.file(node, name)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(releaseWait)
	for {
		device, err := attachedTo(file)
		if err != nil {
			return err
		}
		if device == "" {
			break
		}
		err = unused(device)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return l.discard(ctx, file)
}

func (l loops) discard(ctx context.Context, file string) error {
	device, err := attachedTo(file)
	if err != nil {
		return err
	}
	if device != "" {
		if err := run(ctx, "losetup", "--detach", device); err != nil {
			return err
		}
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func allocate(file string, bytes int64, preallocate bool) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if preallocate {
		if err := unix.Fallocate(int(f.Fd()), 0, 0, bytes); err != nil {
			return fmt.Errorf("allocate %d bytes for %s: %w", bytes, file, err)
		}
		return nil
	}
	return f.Truncate(bytes)
}

// attach binds file to a free loop device. Direct I/O keeps the host from
// caching what the volume's own file system caches already; where the host's
// file system cannot do it (tmpfs), the device works without.
func (l loops) attach(ctx context.Context, file string) (string, error) {
	l.attaching.Lock()
	defer l.attaching.Unlock()
	var err error
	// Another program of the host may take the free device between the
	// question and the answer.
	for range 5 {
		var device string
		if device, err = freeDevice(); err != nil {
			return "", err
		}
		if err = run(ctx, "losetup", "--direct-io=on", device, file); err == nil {
			return device, nil
		}
		if attached, lookErr := attachedTo(file); lookErr == nil && attached != "" {
			return attached, nil // attached, only direct I/O was refused
		}
		if err = run(ctx, "losetup", device, file); err == nil {
			return device, nil
		}
	}
	return "", err
}

// freeDevice asks the kernel for a free device and sees to it that its node
// exists: where /dev is not a devtmpfs, nobody else makes it.
func freeDevice() (string, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("%w (is the kernel's loop driver loaded? modprobe loop)", err)
	}
	defer control.Close()
	number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return "", fmt.Errorf("ask for a free loop device: %w", err)
	}
	device := "/dev/loop" + strconv.Itoa(number)
	err = unix.Mknod(device, unix.S_IFBLK|0o660, int(unix.Mkdev(loopMajor, uint32(number))))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make %s: %w", device, err)
	}
	return device, nil
}

// attachedTo is the device whose backing file is file, or "".
func attachedTo(file string) (string, error) {
	backings, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return "", err
	}
	for _, backing := range backings {
		content, err := os.ReadFile(backing)
		if err != nil {
			continue // detached since the listing
		}
		if strings.TrimSuffix(string(content), "\n") == file {
			return "/dev/" + filepath.Base(filepath.Dir(filepath.Dir(backing))), nil
		}
	}
	return "", nil
}

// unused says whether a device may be detached. losetup would only mark a
// mounted one for later, and its file would go from under it.
func unused(device string) error {
	// A mounted file system holds its device exclusively, in whatever mount
	// namespace it is.
	f, err := os.OpenFile(device, os.O_RDONLY|unix.O_EXCL, 0)
	if err != nil {
		return fmt.Errorf("%s is still in use: %w", device, err)
	}
	defer f.Close()
	// A kubelet holds a raw device by a second loop device on top of it.
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return fmt.Errorf("stat %s: %w", device, err)
	}
	upper, err := onTopOf(stat.Rdev)
	if err == nil && upper != "" {
		err = fmt.Errorf("%s is still in use: %s lies on it", device, upper)
	}
	return err
}

// onTopOf is a loop device whose backing file is the block device rdev, or "".
// The name of the backing file does not tell: it is the device's node bound
// into a directory of the kubelet.
func onTopOf(rdev uint64) (string, error) {
	backings, err := filepath.Glob("/sys/block/loop*/loop")
	if err != nil {
		return "", err
	}
	for _, backing := range backings {
		device := "/dev/" + filepath.Base(filepath.Dir(backing))
		info, err := status(device)
		if errors.Is(err, unix.ENXIO) || errors.Is(err, fs.ErrNotExist) {
			continue // detached since the listing
		}
		if err != nil {
			return "", fmt.Errorf("ask %s for its backing file: %w", device, err)
		}
		if info.Rdevice == rdev {
			return device, nil
		}
	}
	return "", nil
}

func status(device string) (*unix.LoopInfo64, error) {
	f, err := os.Open(device)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return unix.IoctlLoopGetStatus64(int(f.Fd()))
}

// format makes the file system here instead of leaving it to the kubelet,
// whose ext4 finishes its inode tables and journal in the background: a
// benchmark on a fresh volume would measure that too.
func format(ctx context.Context, device string, v volume) error {
	var arguments []string
	switch v.fsType {
	case "":
		return nil
	case "ext4":
		arguments = []string{"mkfs.ext4", "-q", "-F", "-m0", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"}
	case "xfs":
		arguments = []string{"mkfs.xfs", "-q", "-f", "-K"}
	}
	// No discard: it would give back the blocks that preallocate asked for.
	return run(ctx, append(arguments, device)...)
}

func run(ctx context.Context, arguments ...string) error {
	out, err := exec.CommandContext(ctx, arguments[0], arguments[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
