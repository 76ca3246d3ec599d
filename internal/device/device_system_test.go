//go:build system

package device

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

const field = "spec.targets[disk].blockDevice.path"

func TestDevicesThatHoldSomethingAreRefused(t *testing.T) {
	free := devicetest.Loop(t, 64<<20)
	formatted := devicetest.Loop(t, 64<<20)
	devicetest.Run(t, "mkfs.ext4", "-q", "-L", "precious", formatted)
	partitioned := devicetest.Loop(t, 64<<20)
	writePartitionTable(t, partitioned)
	swap := devicetest.Loop(t, 64<<20)
	devicetest.Run(t, "mkswap", swap)
	several := devicetest.Loop(t, 64<<20)
	devicetest.Run(t, "mkfs.ext4", "-q", several)
	devicetest.Run(t, "mkswap", "--force", several)
	_, mounted := devicetest.Filesystem(t, "ext4", 64<<20)
	held := devicetest.Loop(t, 64<<20)
	holder, err := unix.Open(held, unix.O_RDWR|unix.O_EXCL, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(holder) }()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		path, message string
		class         trial.Class
		generated     trial.Class // what becomes of it if it was made for the run
	}{
		"an empty device":    {path: free},
		"a file system":      {path: formatted, class: reason.TargetHoldsData, message: "ext4 with the label precious"},
		"a partition table":  {path: partitioned, class: reason.TargetHoldsData, message: "a partition table (dos)"},
		"swap":               {path: swap, class: reason.TargetHoldsData, message: "swap"},
		"several signatures": {path: several, class: reason.TargetHoldsData},
		"a mounted device":   {path: mounted, class: reason.TargetUnusable, message: "mounted or in use", generated: reason.TargetUnusable},
		"a held device":      {path: held, class: reason.TargetUnusable, message: "mounted or in use", generated: reason.TargetUnusable},
		"a file":             {path: file, class: reason.TargetUnusable, message: "not a block device", generated: reason.TargetUnusable},
		"a character device": {path: "/dev/null", class: reason.TargetUnusable, generated: reason.TargetUnusable},
		"nothing":            {path: "/dev/nonexistent", class: reason.TargetUnusable, generated: reason.TargetUnusable},
	} {
		t.Run(name, func(t *testing.T) {
			for generated, want := range map[bool]trial.Class{false: c.class, true: c.generated} {
				history := Foreign
				if generated {
					history = New
				}
				claim, err := Claim(t.Context(), c.path, history, field)
				if err == nil {
					_ = claim.Close()
				}
				f, _ := errors.AsType[*trial.Failure](err)
				switch {
				case want == "" && err != nil:
					t.Errorf("generated %t: %v", generated, err)
				case want == "":
				case f == nil || f.Class != want || f.Field != field || f.Remedy == "":
					t.Errorf("generated %t: %+v", generated, err)
				case !generated && !strings.Contains(f.Message, c.message):
					t.Errorf("the message is %q", f.Message)
				}
			}
		})
	}
}

// scribble writes to a device, as somebody without a file system does.
func scribble(t *testing.T, path string, at int64, n int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_SYNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("precious", n/8)), at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDataWithoutASignatureIsRefusedUnlessABenchmarkHasLeftIt(t *testing.T) {
	const size = 256 << 20
	path := devicetest.Loop(t, size)
	claim := func(history History, want string) {
		t.Helper()
		c, err := Claim(t.Context(), path, history, field)
		if err == nil {
			err = c.Close()
		}
		f, _ := errors.AsType[*trial.Failure](err)
		switch {
		case want == "" && err != nil:
			t.Errorf("refused: %v", err)
		case want != "" && (f == nil || f.Class != reason.TargetHoldsData || f.Field != field || !strings.Contains(f.Message, want) || !strings.Contains(f.Remedy, "blkdiscard --zeroout")):
			t.Errorf("got %v, want %q", err, want)
		}
	}
	const unknown, since = "data that storagebench did not write", "data written after the last benchmark"
	for name, at := range map[string]int64{"the first block": 0, "the first MiB": 64 << 10, "the last MiB": size - 4096} {
		scribble(t, path, at, 4096)
		t.Log(name)
		claim(Foreign, unknown)
		devicetest.Run(t, "blkdiscard", "--zeroout", path)
	}
	scribble(t, path, 32<<20, 192<<20) // three quarters of it
	claim(Foreign, unknown)
	claim(Resumed, "") // which leaves its marker
	claim(Foreign, "")
	claim(Foreign, "")
	scribble(t, path, 8192, 4096)
	claim(Foreign, since)
	claim(Resumed, "")
	claim(Foreign, "")
}

// writePartitionTable writes a master boot record with one Linux partition.
func writePartitionTable(t *testing.T, path string) {
	t.Helper()
	record := make([]byte, 512)
	copy(record[446:], []byte{0x00, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0}) // from sector 2048, 4096 sectors
	record[510], record[511] = 0x55, 0xaa
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(record); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAClaimedDeviceCannotBeMounted(t *testing.T) {
	path := devicetest.Loop(t, 64<<20)
	devicetest.Run(t, "mkfs.ext4", "-q", path)
	claim, err := Claim(t.Context(), path, New, field)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := unix.Mount(path, dir, "ext4", 0, ""); !errors.Is(err, unix.EBUSY) {
		_ = unix.Unmount(dir, 0)
		t.Errorf("mount gave %v", err)
	}
	if err := claim.Close(); err != nil {
		t.Error(err)
	}
	devicetest.Mount(t, dir, "ext4", path)
}

func TestARealLoopDeviceIsItsOwnLeaf(t *testing.T) {
	dir, path := devicetest.Filesystem(t, "ext4", 64<<20)
	devices, note := System{}.UnderPath(dir)
	if len(devices) != 1 || "/dev/"+devices[0].Name != path || devices[0].SizeBytes != 64<<20 || devices[0].Queue["scheduler"] == "" {
		t.Errorf("got %+v", devices)
	}
	if len(devices) == 1 && (!strings.HasSuffix(devices[0].Backing, "disk.img") || !strings.Contains(note, devices[0].Backing)) {
		t.Errorf("backing %q, note %q", devices[0].Backing, note)
	}
}

func TestDirectIOOfFileSystems(t *testing.T) {
	ext4, path := devicetest.Filesystem(t, "ext4", 64<<20)
	devicetest.DirectIO(t, path)
	memory := t.TempDir()
	devicetest.Mount(t, memory, "tmpfs", "tmpfs")
	if mode, evidence := ProbeDirect(ext4); mode != result.Direct {
		t.Errorf("ext4: %s, %s", mode, evidence)
	}
	// tmpfs accepts O_DIRECT since Linux 6.6 and refused it before.
	if mode, evidence := ProbeDirect(memory); !slices.Contains([]result.DirectMode{result.CachedAnyway, result.DirectRefused}, mode) {
		t.Errorf("tmpfs: %s, %s", mode, evidence)
	}
	if mode, evidence := ProbeDirect("/proc"); mode != result.DirectUnknown {
		t.Errorf("/proc: %s, %s", mode, evidence)
	}
	if mode, evidence := ProbeDirectDevice(path); mode != result.Direct {
		t.Errorf("%s: %s, %s", path, mode, evidence)
	}
	for _, dir := range []string{ext4, memory} {
		if left, _ := filepath.Glob(filepath.Join(dir, ".direct*")); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestSpaceAndSize(t *testing.T) {
	dir, path := devicetest.Filesystem(t, "ext4", 64<<20)
	size, free, err := Space(dir)
	if err != nil || size < 50<<20 || size > 64<<20 || free >= size || free < 40<<20 {
		t.Errorf("%d of %d are free, %v", free, size, err)
	}
	if n, err := Size(path); n != 64<<20 || err != nil {
		t.Errorf("the device has %d bytes, %v", n, err)
	}
}

// A worker that measures a volume may not flush its device, and drops its pages all the same.
func TestTheCacheOfADeviceIsDroppedWithoutPrivileges(t *testing.T) {
	const size = 4 << 20
	path := devicetest.Loop(t, size)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	resident := func() (n int) {
		t.Helper()
		m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Munmap(m) }()
		pages := make([]byte, size/os.Getpagesize())
		if err := mincore(m, pages); err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			n += int(p & 1)
		}
		return n
	}
	for _, privileged := range []bool{true, false} {
		if _, err := f.WriteAt(make([]byte, size), 0); err != nil {
			t.Fatal(err)
		}
		before := resident()
		dropped := make(chan error)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with its capabilities
			if !privileged {
				header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
				var none [2]unix.CapUserData
				if err := unix.Capset(&header, &none[0]); err != nil {
					dropped <- err
					return
				}
			}
			dropped <- DropCache(path)
		}()
		if err := <-dropped; err != nil {
			t.Error(err)
		}
		if after := resident(); before == 0 || after > 0 {
			t.Errorf("privileged %t: %d pages before, %d after", privileged, before, after)
		}
	}
}
