//go:build system

package tunable

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// zfs waits in the kernel for a pool that is suspended, as touch does for a file system that
// is frozen: neither can be killed.
func TestAProgramThatCannotBeKilledIsNotWaitedFor(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	at, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = at.Close() }()
	const freeze, thaw = 0xC0045877, 0xC0045878 // FIFREEZE, FITHAW
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, at.Fd(), freeze, 0); errno != 0 {
		t.Fatal(errno)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := Host{}.run(ctx, "touch", filepath.Join(dir, "file"))
		done <- err
	}()
	select {
	case err = <-done:
		if err == nil || !strings.Contains(err.Error(), "could not be killed") {
			t.Errorf("got %v", err)
		}
	case <-time.After(killWait + 10*time.Second):
		t.Error("it is waited for")
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, at.Fd(), thaw, 0); errno != 0 {
		t.Error(errno)
	}
	// When it has ended, the file system can be unmounted.
	for deadline := time.Now().Add(10 * time.Second); len(workers(dir)) > 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		continue
	}
}

// workers are the processes whose arguments name a directory.
func workers(dir string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), dir) {
			found = append(found, file)
		}
	}
	return found
}
