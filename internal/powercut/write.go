package powercut

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

// Options of Record.
type Options struct {
	// Run, whose Device Record finds out.
	Run Run
	// Buffered writes a file through the page cache. What comes after is the same, but not every
	// file system has direct I/O.
	Buffered bool
	// Overwrite permits a block device, whose data is lost. A file must not exist.
	Overwrite bool
}

// Record writes records to a new file, or over a block device, and tells the witness about each.
// It returns when something fails, the context ends, or all are written: never with nil.
func Record(ctx context.Context, path string, o Options, witness io.Writer) (err error) {
	if err := o.Run.check(); err != nil {
		return err
	}
	f, err := open(path, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	o.Run.Device = info.Mode()&os.ModeDevice != 0
	if err := tell(witness, o.Run.hello()); err != nil {
		return err
	}
	block := aligned(o.Run.Block)
	for n := 1; n <= o.Run.Records; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.Run.encode(block, n)
		if _, err := f.WriteAt(block, o.Run.offset(n)); err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
		if err := tell(witness, event(wrote, n)); err != nil {
			return err
		}
		// After an error nothing is known of what was written before, and Linux reports it only
		// once: the record is not acknowledged, and no further one is written.
		if err := fdatasync(f); err != nil {
			return fmt.Errorf("record %d: fdatasync: %w", n, err)
		}
		if err := tell(witness, event(synced, n)); err != nil {
			return err
		}
	}
	return errFull
}

// open makes the file durable before the first record: that it exists is no record's matter.
func open(path string, o Options) (*os.File, error) {
	flags := os.O_WRONLY | syscall.O_CLOEXEC | syscall.O_DIRECT
	if o.Buffered {
		flags &^= syscall.O_DIRECT
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f, err := os.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(f.Sync(), syncDirectory(filepath.Dir(path))); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	case err != nil:
		return nil, err
	case info.Mode()&os.ModeDevice == 0 || info.Mode()&os.ModeCharDevice != 0:
		return nil, fmt.Errorf("%s exists already; name a new file, or a block device", path)
	case o.Buffered:
		return nil, fmt.Errorf("%s is a block device, which is always written past the page cache; leave out --buffered", path)
	case !o.Overwrite:
		return nil, fmt.Errorf("%s is a block device, and its data would be lost; permit that with --overwrite", path)
	}
	// With O_EXCL the kernel refuses a device that is mounted or part of another.
	f, err := os.OpenFile(path, flags|os.O_EXCL, 0)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil && size < o.Run.Bytes() {
		err = fmt.Errorf("%s has %d bytes, and %d records of %d need %d", path, size, o.Run.Records, o.Run.Block, o.Run.Bytes())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func fdatasync(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for {
			if failed = syscall.Fdatasync(int(fd)); !errors.Is(failed, syscall.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, failed)
}

// tell writes a line in one piece.
func tell(witness io.Writer, line string) error {
	if _, err := io.WriteString(witness, line); err != nil {
		return fmt.Errorf("the witness cannot be reached: %w", err)
	}
	return nil
}

// aligned returns a block for direct I/O: no device wants more than a page.
func aligned(size int) []byte {
	const page = 4096
	block := make([]byte, size+page)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(block))) & (page - 1)
	return block[skip : skip+uintptr(size)]
}
