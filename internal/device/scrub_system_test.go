//go:build system

package device

import (
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
)

func TestAScrubOfBtrfsIsSeenAsLongAsItRuns(t *testing.T) {
	dir, device := devicetest.Filesystem(t, "btrfs", 384<<20)
	devicetest.Run(t, "dd", "if=/dev/urandom", "of="+filepath.Join(dir, "file"), "bs=1M", "count=128", "conv=fsync", "status=none")
	layers := layersOf(t, dir)
	scrub := []result.Activity{{On: "fs:" + dir, What: "scrub"}}
	activities := func() []result.Activity { // without those of other tests' file systems
		return slices.DeleteFunc(System{}.Activities(layers), func(a result.Activity) bool { return a.Maybe })
	}

	if got := activities(); len(got) > 0 {
		t.Fatalf("before it: %v", got)
	}
	stop := devicetest.Scrub(t, dir, 4<<20)
	for deadline := time.Now().Add(10 * time.Second); !slices.Equal(activities(), scrub); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("during it: %v", activities())
		}
	}
	if got := without(t, unix.CAP_SYS_ADMIN, activities); len(got) > 0 {
		t.Errorf("without privileges: %v", got)
	}
	other := t.TempDir()
	devicetest.Mount(t, other, "btrfs", device)
	devicetest.Mount(t, other, "tmpfs", "over")
	if scrubbed(other, "00000000-0000-0000-0000-000000000000") || scrubbed(dir, "00000000-0000-0000-0000-000000000000") {
		t.Error("it is said to be of another file system")
	}
	stop()
	if got := activities(); len(got) > 0 {
		t.Errorf("after it: %v", got)
	}
}

// without calls look in a thread that has lost a capability, and ends with it.
func without[T any](t *testing.T, capability int, look func() T) T {
	t.Helper()
	var out T
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		err := unix.Capget(&header, &data[0])
		data[capability/32].Effective &^= 1 << (capability % 32)
		if err == nil {
			err = unix.Capset(&header, &data[0])
		}
		if err == nil {
			out = look()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return out
}
