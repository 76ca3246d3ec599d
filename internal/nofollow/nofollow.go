package nofollow

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrLink reports that a name on the way is that of a symbolic link, or of no directory.
var ErrLink = errors.New("a symbolic link, or no directory")

// Open opens a directory for reading. The path must be absolute. Its error wraps that of
// the system call, and ErrLink where a link is on the way.
func Open(path string) (*os.File, error) {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("the path is not absolute")}
	}
	const through = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	at, err := unix.Open("/", through, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i, name := range names {
		next, err := unix.Openat(at, name, through, 0)
		_ = unix.Close(at) // it was only passed through
		if err != nil {
			return nil, failed("/"+strings.Join(names[:i+1], "/"), err)
		}
		at = next
	}
	// Only now it is opened for reading, for which the directories above need not be readable.
	fd, err := unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	_ = unix.Close(at) // it was only passed through
	if err != nil {
		return nil, failed(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenIn opens the directory of that name in another one, for reading.
func OpenIn(dir *os.File, name string) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	if strings.ContainsRune(name, '/') || name == ".." {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, failed(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

func failed(path string, err error) error {
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		err = fmt.Errorf("%w (%w)", ErrLink, err)
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}
