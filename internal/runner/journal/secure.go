package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// The journal tells a fully privileged process what to write into the kernel. So the
// process uses it only if no other user can have written it: the file, its directory and
// every directory above belong to the process's user (those above may also belong to
// root), and nobody else may write there. It follows no symbolic link on the way, to a
// directory or to the file, and refuses a file with a second name (a hard link).

// UntrustedError says why a journal cannot be trusted to be our own.
type UntrustedError struct {
	Path   string
	Reason string
}

// Error names the path and what is wrong with it.
func (e *UntrustedError) Error() string {
	return fmt.Sprintf("%s %s, so somebody else may have planted it; no setting was changed", e.Path, e.Reason)
}

const (
	directoryFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	// fileFlags do not block on a FIFO, and follow no link.
	fileFlags      = unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
	writableByRest = 0o022
)

// openTrusted opens a directory, starting at the root, each name relative to the
// directory before. With create, it creates missing directories durably.
func openTrusted(path string, create bool) (*os.File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	at, err := os.Open("/")
	if err != nil {
		return nil, err
	}
	names := strings.Split(strings.Trim(path, "/"), "/")
	for i, name := range names {
		below := "/" + filepath.Join(names[:i+1]...)
		next, err := openBelow(at, name, below, create)
		if err == nil {
			err = checkDirectory(next, below, i == len(names)-1)
		}
		if closeErr := at.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			if next != nil {
				_ = next.Close() // it was only read
			}
			return nil, err
		}
		at = next
	}
	return at, nil
}

func openBelow(at *os.File, name, path string, create bool) (*os.File, error) {
	fd, err := unix.Openat(int(at.Fd()), name, directoryFlags, 0)
	if errors.Is(err, unix.ENOENT) && create {
		if err := unix.Mkdirat(int(at.Fd()), name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, &fs.PathError{Op: "mkdir", Path: path, Err: err}
		}
		if err := at.Sync(); err != nil {
			return nil, err
		}
		fd, err = unix.Openat(int(at.Fd()), name, directoryFlags, 0)
	}
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		var stat unix.Stat_t
		if unix.Fstatat(int(at.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK {
			return nil, &UntrustedError{Path: path, Reason: "is a symbolic link"}
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func checkDirectory(f *os.File, path string, last bool) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	own := int(stat.Uid) == os.Geteuid()
	// In a sticky directory like /tmp, others cannot replace our own files.
	sticky := stat.Mode&unix.S_ISVTX != 0
	switch {
	case !own && (last || stat.Uid != 0):
		return &UntrustedError{Path: path, Reason: fmt.Sprintf("belongs to user %d instead of %d", stat.Uid, os.Geteuid())}
	case stat.Mode&writableByRest != 0 && (last || !sticky):
		return &UntrustedError{Path: path, Reason: fmt.Sprintf("is writable by others (its mode is %04o)", stat.Mode&0o7777)}
	}
	return nil
}

// openFile opens a file of a trusted directory, and creates it if flags say so.
func openFile(dir *os.File, name string, flags int) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	fd, err := unix.Openat(int(dir.Fd()), name, flags|fileFlags, 0o600)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, &UntrustedError{Path: path, Reason: "is a symbolic link"}
	case errors.Is(err, unix.ENXIO):
		return nil, &UntrustedError{Path: path, Reason: "is not a regular file"}
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if err := checkFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func checkFile(f *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	switch {
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return &UntrustedError{Path: f.Name(), Reason: "is not a regular file"}
	case int(stat.Uid) != os.Geteuid():
		return &UntrustedError{Path: f.Name(), Reason: fmt.Sprintf("belongs to user %d instead of %d", stat.Uid, os.Geteuid())}
	case stat.Mode&writableByRest != 0:
		return &UntrustedError{Path: f.Name(), Reason: fmt.Sprintf("is writable by others (its mode is %04o)", stat.Mode&0o7777)}
	case stat.Nlink > 1:
		return &UntrustedError{Path: f.Name(), Reason: fmt.Sprintf("has %d names (hard links)", stat.Nlink)}
	}
	return nil
}
