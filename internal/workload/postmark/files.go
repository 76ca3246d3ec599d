package postmark

import (
	"strconv"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/workload/native"
)

// nameLength is the length of "s", a directory's number, "/", a file's number, and 0.
const nameLength = 1 + 10 + 1 + 10 + 1

// path is the name of the operation's file below the worker's directory. It is valid
// until the next call.
func (w *worker) path(op operation) *byte {
	b := w.name[:0]
	if w.script.table.directories != nil {
		b = append(subdirectory(b, op.directory), '/')
	}
	b = append(strconv.AppendUint(b, uint64(op.number), 10), 0)
	return &b[0]
}

// subdirectory appends the name of a directory of files.
func subdirectory(b []byte, number uint32) []byte {
	return strconv.AppendUint(append(b, 's'), uint64(number), 10)
}

func failed(call string, errno unix.Errno) error {
	return &native.Failed{Call: call, Errno: errno}
}

// writeFile creates a file or appends to it.
func (w *worker) writeFile(t *native.Thread, op operation, flags int) error {
	fd, errno := native.OpenAt(w.dir, w.path(op), flags)
	if errno != 0 {
		return failed("open", errno)
	}
	if err := w.write(t, fd, int(op.bytes)); err != nil {
		_ = native.Close(fd) // the first error is the one to tell
		return err
	}
	if w.durability == syncFile || w.durability == fileAndDirectory {
		if errno := native.Fsync(fd); errno != 0 {
			_ = native.Close(fd) // the first error is the one to tell
			return failed("fsync", errno)
		}
	}
	if errno := native.Close(fd); errno != 0 {
		return failed("close", errno)
	}
	if op.kind == createFile {
		return w.syncDirectory(op)
	}
	return nil
}

// write writes n bytes, block by block.
func (w *worker) write(t *native.Thread, fd, n int) error {
	for n > 0 {
		content := w.content(min(n, w.chunk))
		n -= len(content)
		for len(content) > 0 {
			if t.Stopped() {
				return errStopped
			}
			part := content[:min(len(content), w.writeUnit)]
			if errno := native.Write(fd, part); errno != 0 {
				return failed("write", errno)
			}
			content = content[len(part):]
		}
	}
	return nil
}

// readFile reads a whole file, block by block. The last call asks for no more than
// what is left, so that there is none that finds the end.
func (w *worker) readFile(t *native.Thread, op operation) error {
	fd, errno := native.OpenAt(w.dir, w.path(op), unix.O_RDONLY)
	if errno != 0 {
		return failed("open", errno)
	}
	if err := w.read(t, fd, int(op.bytes)); err != nil {
		_ = native.Close(fd) // the first error is the one to tell
		return err
	}
	if errno := native.Close(fd); errno != 0 {
		return failed("close", errno)
	}
	return nil
}

func (w *worker) read(t *native.Thread, fd, n int) error {
	for n > 0 {
		if t.Stopped() {
			return errStopped
		}
		got, errno := native.Read(fd, w.buffer[:min(n, len(w.buffer))])
		if errno != 0 {
			return failed("read", errno)
		}
		if got == 0 {
			return failed("read: the file is shorter than what was written to it", unix.EIO)
		}
		n -= got
	}
	return nil
}

func (w *worker) deleteFile(op operation) error {
	if errno := native.UnlinkAt(w.dir, w.path(op)); errno != 0 {
		return failed("unlink", errno)
	}
	return w.syncDirectory(op)
}

// syncDirectory makes durable that a file was created or deleted.
func (w *worker) syncDirectory(op operation) error {
	if w.durability != fileAndDirectory {
		return nil
	}
	if w.script.table.directories == nil {
		if errno := native.Fsync(w.dir); errno != 0 {
			return failed("fsync of the directory", errno)
		}
		return nil
	}
	// There may be more subdirectories than files that can be open.
	b := append(subdirectory(w.name[:0], op.directory), 0)
	fd, errno := native.OpenAt(w.dir, &b[0], unix.O_RDONLY|unix.O_DIRECTORY)
	if errno != 0 {
		return failed("open of the directory", errno)
	}
	if errno := native.Fsync(fd); errno != 0 {
		_ = native.Close(fd) // the first error is the one to tell
		return failed("fsync of the directory", errno)
	}
	if errno := native.Close(fd); errno != 0 {
		return failed("close of the directory", errno)
	}
	return nil
}
