package journal

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Records are small files beside the journal, for what a worker must find again on its node
// and believe, such as which device it has claimed. They are trusted under the same
// conditions as the journal. Nothing locks them: only the holder of what a record is about
// writes it.

// maxRecord bounds a record in bytes.
const maxRecord = 4 << 10

// WriteRecord writes a record so that it is on disk as a whole or not at all. It creates the
// directory if there is none.
func WriteRecord(dir, name string, b []byte) error {
	if len(b) > maxRecord {
		return fmt.Errorf("journal: the record has %d bytes, the limit is %d", len(b), maxRecord)
	}
	at, err := openTrusted(dir, true)
	if err != nil {
		return err
	}
	d := &directory{dir: at}
	if err = d.writeSynced(name+".new", b); err == nil {
		err = d.rename(name+".new", name)
	}
	return errors.Join(err, at.Close())
}

// ReadRecord reads a record. Without one, the error is fs.ErrNotExist; it is an
// *UntrustedError if another user may have written it.
func ReadRecord(dir, name string) ([]byte, error) {
	at, err := openTrusted(dir, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = at.Close() }() // it was only read
	f, err := openFile(at, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(f, maxRecord))
}

// RemoveRecord removes a record, if there is one.
func RemoveRecord(dir, name string) error {
	at, err := openTrusted(dir, false)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join((&directory{dir: at}).remove(name), at.Close())
}
