package turns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for its turn: longer than all others take together.
const patience = 35 * time.Minute

// WithOthers waits until no test is alone. Directory is the same for all programs that
// test the same cluster.
func WithOthers(tb testing.TB, directory string) {
	tb.Helper()
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
