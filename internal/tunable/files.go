package tunable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Files gives access to the files of sysfs and procfs by their absolute names.
type Files interface {
	ReadFile(name string) ([]byte, error)
	// WriteFile writes an existing file. It never creates one.
	WriteFile(name string, data []byte) error
	// ReadDir returns the names in a directory.
	ReadDir(name string) ([]string, error)
	// Identity returns a number that identifies the kernel object behind a file or
	// directory of sysfs. No other object gets it until the next boot.
	Identity(name string) (uint64, error)
}

// Tree implements Files for the files below a directory, which is / on a real
// machine.
type Tree string

var _ Files = Tree("")

// ReadFile reads a file whole.
func (t Tree) ReadFile(name string) ([]byte, error) { return os.ReadFile(t.path(name)) }

// WriteFile writes a file with one system call, because the kernel acts on each
// call.
func (t Tree) WriteFile(name string, data []byte) error {
	f, err := os.OpenFile(t.path(name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// ReadDir returns the names in a directory, sorted.
func (t Tree) ReadDir(name string) ([]string, error) {
	entries, err := os.ReadDir(t.path(name))
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// Identity returns the inode's number: sysfs gives every object it shows the next
// one.
func (t Tree) Identity(name string) (uint64, error) {
	var stat unix.Stat_t
	if err := unix.Stat(t.path(name), &stat); err != nil {
		return 0, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	return stat.Ino, nil
}

func (t Tree) path(name string) string { return filepath.Join("/", string(t), name) }

// read returns a file's text without the white space around it.
func (h Host) read(name string) (string, error) {
	b, err := h.files().ReadFile(name)
	if err != nil {
		return "", absent(err)
	}
	return strings.TrimSpace(string(b)), nil
}

// readOptional returns a file's text, or "" if it cannot be read.
func (h Host) readOptional(name string) string {
	s, _ := h.read(name) // callers treat unreadable and missing alike
	return s
}

func (h Host) write(name, value string) error {
	if err := h.files().WriteFile(name, []byte(value)); err != nil {
		return absent(err)
	}
	return nil
}

// ErrAbsent reports that the machine, device or dataset has no such setting.
var ErrAbsent = errors.New("there is no such setting here")

func absent(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	return err
}
