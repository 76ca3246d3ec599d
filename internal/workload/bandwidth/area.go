package bandwidth

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/native"
)

// area is where data is written and read: a file, or the beginning of a device.
type area struct {
	env    workload.Env
	config config
	size   int64
	// choice is the size that Prepare chose, or nil.
	choice *result.SizeChoice
}

// path of the file or device.
func (a area) path() string {
	if a.onDevice() {
		return a.env.Device
	}
	return dataFile(a.env)
}

// dataFile is the workload's file, if the target has files.
func dataFile(env workload.Env) string { return filepath.Join(env.Dir, "bandwidth-"+env.Workload.Name) }

func (a area) onDevice() bool { return a.env.Target.Mode == trial.Block }

// open opens it. A device is not opened exclusively, as the runner holds it so.
func (a area) open(flags int) (fd int, err error) {
	if a.config.Direct {
		flags |= unix.O_DIRECT
	}
	fd, errno := native.Open(native.Path(a.path()), flags)
	if errno != 0 {
		return -1, a.refused("open", errno)
	}
	return fd, nil
}

// create opens it for writing: a file is made anew.
func (a area) create() (fd int, err error) {
	if a.onDevice() {
		return a.open(unix.O_RDWR)
	}
	if err := a.remove(); err != nil {
		return -1, err
	}
	return a.open(unix.O_RDWR | unix.O_CREAT | unix.O_EXCL)
}

// remove removes the file, if there is one.
func (a area) remove() error {
	if a.onDevice() {
		return nil
	}
	if err := os.Remove(a.path()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return a.refused("remove", err)
	}
	return nil
}

// settle makes durable what others have left in memory, so that it does not become a
// part of what is timed.
func (a area) settle(fd int) error {
	if err := a.drain(fd); err != nil {
		return a.refused("before the trial", err)
	}
	return nil
}

// drain makes durable what was written. A device has no file system to be synced.
func (a area) drain(fd int) error {
	if err := unix.Fsync(fd); err != nil {
		return fmt.Errorf("fsync: %w", err)
	}
	if a.onDevice() {
		return nil
	}
	_, err := native.Drain(a.env.Dir)
	return err
}

// occupied is what the file has of the target already.
func occupied(env workload.Env) (uint64, error) {
	if env.Target.Mode == trial.Block {
		return 0, nil
	}
	info, err := os.Lstat(dataFile(env))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, env.Unusable(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, nil
	}
	return uint64(stat.Blocks) * 512, nil
}

// refused turns an error of a system call into a failure. Of direct I/O EINVAL says
// that the target has none, or none in blocks of this size.
func (a area) refused(operation string, err error) error {
	f := a.env.Refused("bandwidth", operation, err)
	if !errors.Is(err, unix.EINVAL) || !a.config.Direct {
		return f
	}
	f.Class, f.Field = reason.EngineRefused, a.env.Field("bandwidth.direct")
	f.Message, f.Remedy = "the target refuses direct I/O: "+f.Message, "set direct: false and measure the page cache as well"
	if operation != "open" {
		f.Field = a.env.Field("bandwidth.blockSize")
		f.Remedy = "use a blockSize that is a multiple of the device's logical block, such as 4Ki, or set direct: false"
	}
	return f
}
