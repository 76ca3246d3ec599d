package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

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
	// load returns nil if there is no journal.
	load() ([]byte, error)
	// replace is atomic and durable; nil removes the journal.
	replace(b []byte) error
	close() error
}

// directory is a store in a directory.
type directory struct {
	path string
	lock *os.File
}

var _ store = (*directory)(nil)

// ErrBusy says that another process has the journal open.
var ErrBusy = errors.New("another storagebench is working with it")

func openDirectory(path string) (*directory, error) {
	if err := makeDirectory(path); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, errors.Join(err, lock.Close())
	}
	d := &directory{path: path, lock: lock}
	// What was being written when a process was killed was never valid.
	if err := os.Remove(d.file(newName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// makeDirectory makes a directory that is still there after a power cut.
func makeDirectory(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := makeDirectory(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncDirectory(parent)
}

func syncDirectory(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d *directory) file(name string) string { return filepath.Join(d.path, name) }

func (d *directory) load() ([]byte, error) { return loadFile(d.file(fileName)) }

func loadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(b) > maxSize {
		err = &CorruptError{Path: path, Reason: "it is larger than any journal"}
	}
	if b == nil {
		b = []byte{} // an empty file is there
	}
	return b, err
}

func (d *directory) replace(b []byte) error {
	if b == nil {
		if err := os.Remove(d.file(fileName)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return syncDirectory(d.path)
	}
	if err := writeSynced(d.file(newName), b); err != nil {
		return err
	}
	if err := os.Rename(d.file(newName), d.file(fileName)); err != nil {
		return err
	}
	return syncDirectory(d.path)
}

func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (d *directory) close() error { return d.lock.Close() } // which unlocks it

// SetAside takes a damaged journal out of the way, after a person has looked at it,
// and returns where it is now. It is kept: it is the only record of what there was.
func SetAside(dir string, now time.Time) (string, error) {
	d, err := openDirectory(dir)
	if err != nil {
		return "", unusable(dir, err)
	}
	defer func() { _ = d.close() }() // the file is in its place by then
	to := d.file(fmt.Sprintf("%s.damaged-%s", fileName, now.UTC().Format("20060102T150405.000000000Z")))
	if err := os.Rename(d.file(fileName), to); err != nil {
		return "", unusable(dir, err)
	}
	if err := syncDirectory(dir); err != nil {
		return "", unusable(dir, err)
	}
	return to, nil
}

func unusable(dir string, err error) *trial.Failure {
	f := &trial.Failure{Class: trial.TunableNotApplied, Message: fmt.Sprintf("the journal in %s cannot be used: %v", dir, err), Err: err}
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		f.Class, f.Message = trial.TunablesNotRestored, corrupt.Error() // for all that is known
		f.Remedy = "see what it holds with storagebench restore, put that back by hand, and then: storagebench restore --forget"
		return f
	}
	switch {
	case errors.Is(err, ErrBusy):
		f.Remedy = "wait until it has ended"
	case errors.Is(err, os.ErrPermission):
		f.Remedy = "run as root, or name another directory"
	default:
		f.Remedy = "see that the directory can be written and has room"
	}
	return f
}
