package turns

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

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
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			tb.Fatal(&os.PathError{Op: "lock", Path: path, Err: err})
		}
		return f
	}
}

func unlock(tb testing.TB, f *os.File) {
	tb.Helper()
	if err := f.Close(); err != nil {
		tb.Error(err)
	}
}
