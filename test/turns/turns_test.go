package turns_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"storagebench.io/storagebench/test/turns"
)

// free reports whether another program would get a lock at once.
func free(t *testing.T, directory, name string, how int) bool {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(directory, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Error(err)
		return false
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Error(err)
	}
	return err == nil
}

func TestATurnIsHeldUntilTheEndOfTheTest(t *testing.T) {
	for name, c := range map[string]struct {
		take         func(testing.TB, string)
		besideOthers bool
	}{
		"with others": {turns.WithOthers, true},
		"alone":       {turns.Alone, false},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			t.Run("during", func(t *testing.T) {
				c.take(t, directory)
				if got := free(t, directory, "tests.room", syscall.LOCK_SH); got != c.besideOthers {
					t.Errorf("another test gets a turn beside it: %v, want %v", got, c.besideOthers)
				}
				if free(t, directory, "tests.room", syscall.LOCK_EX) {
					t.Error("a test gets a turn alone, and is not")
				}
				if !free(t, directory, "tests.gate", syscall.LOCK_EX) {
					t.Error("nobody can wait for a turn")
				}
			})
			if !free(t, directory, "tests.room", syscall.LOCK_EX) {
				t.Error("the turn is held after the test's end")
			}
		})
	}
}

func TestNobodyOvertakesATestThatWaitsToBeAlone(t *testing.T) {
	directory := t.TempDir()
	other, err := os.Create(filepath.Join(directory, "tests.room"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	shut := make(chan bool, 1)
	go func() {
		deadline := time.Now().Add(time.Minute)
		for free(t, directory, "tests.gate", syscall.LOCK_SH) && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		shut <- time.Now().Before(deadline)
		if err := other.Close(); err != nil { // lets the one that waits in
			t.Error(err)
		}
	}()
	turns.Alone(t, directory)
	if !<-shut {
		t.Error("the gate was open while a test waited to be alone")
	}
}
