package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

// DefaultDir is where a node keeps its journal.
const DefaultDir = "/var/lib/storagebench/journal"

const (
	fileName = "tunables.journal"
	newName  = "tunables.journal.new"
	lockName = "lock"
)

// store keeps the journal's bytes.
type store interface {
	// load returns the content, or nil if there is no journal.
	load() ([]byte, error)
	// replace replaces the content atomically and durably; nil removes the
	// journal.
	replace(b []byte) error
	// forgets returns the type of the file system that loses the journal with a reboot; "" if it
	// keeps it, as far as one can see.
	forgets() (string, error)
	close() error
}

// directory is a store in a directory. It keeps the directory's descriptor, so that it
// ignores whatever somebody puts in the directory's place later.
type directory struct {
	dir  *os.File
	lock *os.File
}

var _ store = (*directory)(nil)

// ErrBusy reports that another process has the journal open.
var ErrBusy = errors.New("another storagebench process is using it")

func openDirectory(path string) (*directory, error) {
	dir, err := openTrusted(path, true)
	if err != nil {
		return nil, err
	}
	lock, err := openFile(dir, lockName, unix.O_RDONLY|unix.O_CREAT)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	d := &directory{dir: dir, lock: lock}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, errors.Join(err, d.close())
	}
	// A process was killed while it wrote this file, so it is not part of the
	// journal.
	if err := d.remove(newName); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *directory) remove(name string) error {
	if err := unix.Unlinkat(int(d.dir.Fd()), name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: filepath.Join(d.dir.Name(), name), Err: err}
	}
	return nil
}

func (d *directory) rename(from, to string) error {
	fd := int(d.dir.Fd())
	if err := unix.Renameat(fd, from, fd, to); err != nil {
		return &os.LinkError{Op: "rename", Old: filepath.Join(d.dir.Name(), from), New: filepath.Join(d.dir.Name(), to), Err: err}
	}
	return d.dir.Sync()
}

func (d *directory) load() ([]byte, error) { return loadFile(d.dir) }

// loadFile returns nil if there is no journal in the directory.
func loadFile(dir *os.File) ([]byte, error) {
	f, err := openFile(dir, fileName, unix.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(b) > maxSize {
		err = &CorruptError{Path: f.Name(), Reason: "it is larger than any valid journal"}
	}
	if b == nil {
		b = []byte{} // an empty file is there
	}
	return b, err
}

func (d *directory) replace(b []byte) error {
	if b == nil {
		if err := d.remove(fileName); err != nil {
			return err
		}
		return d.dir.Sync()
	}
	if err := d.writeSynced(newName, b); err != nil {
		return err
	}
	return d.rename(newName, fileName)
}

func (d *directory) writeSynced(name string, b []byte) error {
	f, err := openFile(d.dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// forgets knows file systems in memory. An overlay's upper directory may be in memory, too, but
// is mostly out of sight.
func (d *directory) forgets() (string, error) {
	var stat unix.Statfs_t
	if err := unix.Fstatfs(int(d.dir.Fd()), &stat); err != nil {
		return "", &os.PathError{Op: "statfs", Path: d.dir.Name(), Err: err}
	}
	switch uint32(stat.Type) {
	case unix.TMPFS_MAGIC:
		return "tmpfs", nil
	case unix.RAMFS_MAGIC:
		return "ramfs", nil
	}
	return "", nil
}

// close releases the journal's lock.
func (d *directory) close() error { return errors.Join(d.lock.Close(), d.dir.Close()) }

// SetAside renames a damaged journal, after a person has looked at it, and returns
// its new path. The file is kept because it is the only record of the old values.
func SetAside(dir string, now time.Time) (string, error) {
	d, err := openDirectory(dir)
	if err != nil {
		return "", unusable(dir, err)
	}
	defer func() { _ = d.close() }() // the file is already renamed
	to := fmt.Sprintf("%s.damaged-%s", fileName, now.UTC().Format("20060102T150405.000000000Z"))
	if err := d.rename(fileName, to); err != nil {
		return "", unusable(dir, err)
	}
	return filepath.Join(dir, to), nil
}

func unusable(dir string, err error) *trial.Failure {
	f := &trial.Failure{Class: reason.TunableNotApplied, Message: fmt.Sprintf("cannot use the journal in %s: %v", dir, err), Err: err}
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		f.Class, f.Message = reason.TunablesNotRestored, corrupt.Error() // assume so: the journal cannot be read
		f.Remedy = "on the node, show its readable part with storagebench restore, restore those settings by hand, and then run: storagebench restore --forget"
		return f
	}
	if _, ok := errors.AsType[*NotPermittedError](err); ok {
		f.Class = reason.TunablesNotRestored
		f.Remedy = "on the node, run storagebench restore to restore these settings, or storagebench restore --forget to keep them as they are"
		return f
	}
	if _, ok := errors.AsType[*UntrustedError](err); ok {
		f.Class = reason.TunablesNotRestored // assume so: the journal cannot be read
		f.Remedy = "examine it as root, and remove it if no benchmark of yours created it"
		return f
	}
	switch {
	case errors.Is(err, ErrBusy):
		f.Remedy = "wait until that process has ended"
	case errors.Is(err, os.ErrPermission):
		f.Remedy = "run as root, or choose another directory"
	default:
		f.Remedy = "make sure that the directory is writable and that its disk is not full"
	}
	return f
}
