// Package devicetest creates real block devices and file systems for tests. It
// needs root, losetup, mkfs and mount. It removes what it created when the test
// ends, passed or failed.
package devicetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Run runs a program and returns its output. The test fails if the program does.
func Run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Loop creates a loop device of the given size in bytes, on a sparse file, with the kernel's
// default settings.
func Loop(t *testing.T, size int64) string {
	t.Helper()
	requireRoot(t)
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	return Attach(t, file)
}

// Attach attaches a file to a loop device with the kernel's default settings.
func Attach(t *testing.T, file string, options ...string) string {
	t.Helper()
	device := Run(t, append(append([]string{"losetup", "--find", "--show"}, options...), file)...)
	t.Cleanup(func() { cleanUp(t, "losetup", "--detach", device) })
	reset(t, device)
	return device
}

// DirectIO makes a loop device read and write its file past the page cache. The file must be
// on a disk.
func DirectIO(t *testing.T, device string) {
	t.Helper()
	Run(t, "losetup", "--direct-io=on", device)
}

// OwnLoop is Loop with a number that losetup --find never chooses, for a test that detaches
// the device and attaches something again: a parallel test could take the device in
// between.
func OwnLoop(t *testing.T, size int64) string {
	t.Helper()
	requireRoot(t)
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	number := 1000 + os.Getpid()%100_000
	device := fmt.Sprintf("/dev/loop%d", number)
	Run(t, "losetup", device, file)
	t.Cleanup(func() {
		// It may already be detached.
		_ = exec.CommandContext(context.Background(), "losetup", "--detach", device).Run()
		control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = control.Close() }()
		const remove = 0x4C81 // LOOP_CTL_REMOVE
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, control.Fd(), remove, uintptr(number)); errno != 0 {
			t.Errorf("removing %s: %v", device, errno)
		}
	})
	return device
}

// defaults are the kernel's settings of a loop device's queue, in an order in which none of
// them changes another that was set before.
var defaults = []struct{ name, value string }{
	{"scheduler", "none"}, {"nr_requests", "128"}, {"write_cache", "write back"}, {"nomerges", "0"}, {"rq_affinity", "1"}, {"wbt_lat_usec", "-1"}, {"max_sectors_kb", "1280"},
}

// reset gives the device's queue the kernel's default settings. The kernel's object outlives
// the file attached to it, so a test that failed or was killed may have left other values.
func reset(t *testing.T, device string) {
	t.Helper()
	for _, setting := range defaults {
		err := os.WriteFile(filepath.Join("/sys/block", filepath.Base(device), "queue", setting.name), []byte(setting.value), 0)
		// Not every kernel throttles writeback, or lets a loop device have as large a request.
		if err != nil && setting.name != "wbt_lat_usec" && setting.name != "max_sectors_kb" {
			t.Fatal(err)
		}
	}
}

// Filesystem creates a file system of the given type and size and mounts it.
func Filesystem(t *testing.T, kind string, size int64) (dir, device string) {
	t.Helper()
	device = Loop(t, size)
	Run(t, "mkfs."+kind, "-q", device)
	dir = t.TempDir()
	Mount(t, dir, kind, device)
	return dir, device
}

// Mount mounts source on dir until the test ends.
func Mount(t *testing.T, dir, kind, source string, options ...string) {
	t.Helper()
	requireRoot(t)
	Run(t, append([]string{"mount", "-t", kind, source, dir}, options...)...)
	t.Cleanup(func() { cleanUp(t, "umount", dir) })
}

// Scrub begins to scrub a btrfs that is mounted on dir, at so many bytes a second for each device.
// stop ends the scrub, and so does the test's end.
func Scrub(t *testing.T, dir string, speed int) (stop func()) {
	t.Helper()
	requireRoot(t)
	uuid := Run(t, "findmnt", "--noheadings", "--output", "UUID", "--mountpoint", dir)
	limits, err := filepath.Glob("/sys/fs/btrfs/" + uuid + "/devinfo/*/scrub_speed_max")
	if err != nil || len(limits) == 0 {
		t.Fatalf("sysfs does not limit the scrub of %s: %v", dir, err)
	}
	for _, limit := range limits {
		if err := os.WriteFile(limit, fmt.Append(nil, speed), 0); err != nil {
			t.Fatal(err)
		}
	}
	// One that is killed goes on in the kernel.
	cmd := exec.CommandContext(context.Background(), "btrfs", "scrub", "start", "-B", "-r", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		// It fails if the scrub has ended, as the scrub does if it is cancelled.
		_ = exec.CommandContext(context.Background(), "btrfs", "scrub", "cancel", dir).Run()
		_ = cmd.Wait()
		for _, what := range []string{"status", "progress"} {
			_ = os.Remove("/var/lib/btrfs/scrub." + what + "." + uuid)
		}
	})
	t.Cleanup(stop)
	return stop
}

// Detach detaches a loop device.
func Detach(t *testing.T, device string) {
	t.Helper()
	cleanUp(t, "losetup", "--detach", device)
}

// Unmount unmounts what is mounted on dir. It also works while a test's context has ended.
func Unmount(t *testing.T, dir string) {
	t.Helper()
	cleanUp(t, "umount", dir)
}

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test creates loop devices and mounts: run it as root")
	}
}

// cleanUp runs a command that undoes something. A process that was killed can still hold what it used, so it is
// tried again for a while.
func cleanUp(t *testing.T, argv ...string) {
	t.Helper()
	// The test's own context has ended.
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("%s: %v\n%s", fmt.Sprint(argv), err, out)
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}
