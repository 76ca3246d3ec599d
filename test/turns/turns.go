package turns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for its turn: longer than all others take together.
const patience = 35 * time.Minute

// block is what AloneFirst holds, until this program's first test that may run beside others.
var block struct {
	sync.Mutex
	file *os.File
}

// AloneFirst is called before the tests of a program, of which the first ones are alone. If
// another program has said so already, both take turns.
func AloneFirst(directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(directory, "tests.first"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(f.Close(), ignoring(err, syscall.EWOULDBLOCK))
	}
	block.Lock()
	defer block.Unlock()
	block.file = f
	return nil
}

func ignoring(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// passBlock ends this program's block, or waits for that of another.
func passBlock(tb testing.TB, directory string) {
	tb.Helper()
	block.Lock()
	own := block.file
	block.file = nil
	block.Unlock()
	if own == nil {
		own = lock(tb, filepath.Join(directory, "tests.first"), syscall.LOCK_SH)
	}
	unlock(tb, own)
}

// WithOthers waits until no test is alone. Directory is the same for all programs that
// test the same cluster.
func WithOthers(tb testing.TB, directory string) {
	tb.Helper()
	if err := os.MkdirAll(directory, 0o755); err != nil {
		tb.Fatal(err)
	}
	passBlock(tb, directory)
	take(tb, directory, syscall.LOCK_SH)
}

// Alone waits until no other test has a turn.
func Alone(tb testing.TB, directory string) {
	tb.Helper()
	take(tb, directory, syscall.LOCK_EX)
}

// take goes through a gate, which is held while it waits for the room: behind a test that
// waits to be alone, nobody gets in.
func take(tb testing.TB, directory string, how int) {
	tb.Helper()
	if err := os.MkdirAll(directory, 0o755); err != nil {
		tb.Fatal(err)
	}
	gate := lock(tb, filepath.Join(directory, "tests.gate"), syscall.LOCK_EX)
	room := lock(tb, filepath.Join(directory, "tests.room"), how)
	unlock(tb, gate)
	tb.Cleanup(func() { unlock(tb, room) })
}

// lock locks a file. The lock goes with the program, however that ends.
func lock(tb testing.TB, path string, how int) *os.File {
	tb.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	locked := make(chan error, 1)
	go func() {
		for {
			err := syscall.Flock(int(f.Fd()), how)
			if !errors.Is(err, syscall.EINTR) {
				locked <- err
				return
			}
		}
	}()
	select {
	case err = <-locked:
	case <-time.After(patience):
		// The program ends with its tests, and the lock that it may still get with it.
		err = fmt.Errorf("others had their turn for %s", patience)
	}
	if err != nil {
		tb.Fatal(&os.PathError{Op: "lock", Path: path, Err: err})
	}
	return f
}

func unlock(tb testing.TB, f *os.File) {
	tb.Helper()
	if err := f.Close(); err != nil {
		tb.Error(err)
	}
}
