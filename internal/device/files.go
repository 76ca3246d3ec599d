package device

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/result"
)

// A directory with more than maxFiles entries, or files in more than maxExtents pieces, is not
// judged: whoever writes to it could keep the runner busy.
const (
	maxFiles   = 1000
	maxExtents = 100_000
)

var errTooMuch = errors.New("there is more than is looked at")

// Files returns how large the files in a directory are together (files.bytes), and which share
// of them was never written (files.thin): reading holes and unwritten extents needs no I/O.
// It returns nothing for a directory without files, or with too much, and for a file system that
// does not tell.
func Files(dir string) result.Metrics {
	if dir == "" {
		return nil
	}
	var size, data int64
	entries, extents := -1, 0 // the directory itself is the first
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }() // it was only read
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if entries++; entries > maxFiles {
			return errTooMuch
		}
		if err != nil || !entry.Type().IsRegular() || strings.HasPrefix(path, ".") { // notes of the workload: see workload.Env
			return err
		}
		all, written, err := written(root, path, &extents)
		size, data = size+all, data+written
		return err
	})
	if err != nil || size == 0 {
		return nil
	}
	m := result.Metrics{}
	m.Set(result.FilesBytes, result.Bytes, float64(size))
	m.Set("files.thin", result.Ratio, 1-float64(data)/float64(size))
	return m
}

// written returns a file's size, and how much of it holds data. It counts the file's pieces.
func written(root *os.Root, path string, extents *int) (size, data int64, err error) {
	// It may have been replaced since it was listed: root follows no link out of the directory,
	// and a pipe is not waited for.
	f, err := root.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = info.Size()
	for at := int64(0); at < size; *extents++ {
		if *extents >= maxExtents {
			return size, data, errTooMuch
		}
		begin, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return size, data, nil // a hole up to the end
		}
		if err != nil {
			return size, data, err
		}
		end, err := unix.Seek(int(f.Fd()), begin, unix.SEEK_HOLE)
		if err != nil {
			return size, data, err
		}
		data, at = data+end-begin, end
	}
	return size, min(data, size), nil
}
