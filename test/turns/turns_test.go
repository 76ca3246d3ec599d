package turns_test

import (
	"errors"
	"os"
	"os/exec"
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

// helper is this program as another one: it takes a turn beside others, and ends.
const helper = "STORAGEBENCH_TURNS_HELPER"

func TestAnotherProgramWaitsForTheTestsThatAreAlone(t *testing.T) {
	if directory := os.Getenv(helper); directory != "" {
		turns.WithOthers(t, directory)
		return
	}
	directory := t.TempDir()
	if err := turns.AloneFirst(directory); err != nil {
		t.Fatal(err)
	}
	other := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	other.Env = append(os.Environ(), helper+"="+directory)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- other.Wait() }()
	for range 3 { // between two of them nobody gets in
		t.Run("alone", func(t *testing.T) { turns.Alone(t, directory) })
		select {
		case err := <-ended:
			t.Fatalf("another program had its turn before: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Run("beside others", func(t *testing.T) { turns.WithOthers(t, directory) })
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("another program gets no turn")
	}
}

func TestTwoProgramsThatAreAloneFirstTakeTurns(t *testing.T) {
	directory := t.TempDir()
	other, err := os.Create(filepath.Join(directory, "tests.first"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := turns.AloneFirst(directory); err != nil {
		t.Error(err)
	}
}
