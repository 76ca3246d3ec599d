package tunable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Files are the files of sysfs and procfs, by absolute names.
type Files interface {
	ReadFile(name string) ([]byte, error)
	// WriteFile writes a file that is there. It creates none.
	WriteFile(name string, data []byte) error
	// ReadDir returns the names in a directory.
	ReadDir(name string) ([]string, error)
	// Identity is a number that a file or directory of sysfs has for as long as the
	// kernel keeps the object behind it, and that no other has until the next boot.
	Identity(name string) (uint64, error)
}

// Tree is the files below a directory: / on a real machine.
type Tree string

var _ Files = Tree("")

// ReadFile reads a file whole.
func (t Tree) ReadFile(name string) ([]byte, error) { return os.ReadFile(t.path(name)) }

// WriteFile writes a file in one system call, since each is an order to the kernel.
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

// Identity is the inode's number: sysfs counts up with every object that it shows.
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

// optional is read for what need not be there.
func (h Host) optional(name string) string {
	s, _ := h.read(name) // what cannot be read identifies nothing
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
