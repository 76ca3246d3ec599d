//go:build system

package bandwidth

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

func newDeviceEnv(t *testing.T, path, config string) workload.Env {
	t.Helper()
	env := newEnv(t, "", config)
	env.Device, env.Target.Mode = path, trial.Block
	return env
}

// sectors that a device has read and written.
func sectors(t *testing.T, device string) (read, written int) {
	t.Helper()
	stat, err := os.ReadFile("/sys/block/" + filepath.Base(device) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat))
	read, err = strconv.Atoi(fields[2])
	if err != nil {
		t.Fatal(err)
	}
	written, err = strconv.Atoi(fields[6])
	if err != nil {
		t.Fatal(err)
	}
	return read, written
}

func TestDataComesFromTheDeviceAndGoesThere(t *testing.T) {
	dir, loop := devicetest.Filesystem(t, "ext4", 64<<20)
	devicetest.DirectIO(t, loop)
	const size, unit = 16 << 20, 512
	for config, effective := range map[string]result.DirectMode{
		`{"size":"16Mi","direct":true}`:            result.Direct,
		`{"size":"16Mi","direct":false,"depth":4}`: result.Buffered,
	} {
		readBefore, writtenBefore := sectors(t, loop)
		m := measureOnce(t, newEnv(t, dir, config))
		read, written := sectors(t, loop)
		if r, w := read-readBefore, written-writtenBefore; r < size/unit || w < size/unit {
			t.Errorf("%s: the device has read %d and written %d bytes", config, r*unit, w*unit)
		}
		if m.DirectIO.Effective != effective || len(m.Notes) > 0 {
			t.Errorf("%s: %+v, %v", config, m.DirectIO, m.Notes)
		}
	}
}

func TestPagesThatStayAreNoted(t *testing.T) {
	dir := t.TempDir()
	devicetest.Mount(t, dir, "tmpfs", "none", "-o", "size=32m")
	m := measureOnce(t, newEnv(t, dir, `{"size":"4Mi","direct":false}`))
	if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "1024 of 1024 pages") {
		t.Errorf("the notes are %v", m.Notes)
	}
	m = measureOnce(t, newEnv(t, dir, `{"size":"4Mi"}`))
	if m.DirectIO.Effective != result.CachedAnyway {
		t.Errorf("direct I/O is %+v", m.DirectIO)
	}
}

func TestADeviceIsWrittenAndReadWhileTheRunnerHoldsIt(t *testing.T) {
	path := devicetest.Loop(t, 32<<20)
	claim, err := device.Claim(t.Context(), path, device.Foreign, "field")
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Close()
	for _, config := range []string{`{"size":"8Mi","depth":4}`, `{"size":"8Mi","direct":false}`, `{"size":"8Mi","operations":["Read"]}`} {
		readBefore, writtenBefore := sectors(t, path)
		env := newDeviceEnv(t, path, config)
		m := measureOnce(t, env)
		read, written := sectors(t, path)
		if read-readBefore < 8<<20/512 || written-writtenBefore < 8<<20/512 || len(m.Notes) > 0 {
			t.Errorf("%s: %d sectors read, %d written, %v", config, read-readBefore, written-writtenBefore, m.Notes)
		}
		// What is there to be read is not written again.
		prepare(t, env)
		if _, again := sectors(t, path); again != written {
			t.Errorf("%s: the next attempt has written %d sectors", config, again-written)
		}
	}
}

func TestTheSizeOfASmallTargetIsChosenOnce(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	env := newEnv(t, dir, `{"operations":["Read"],"direct":false}`)
	free, err := env.Room()
	if err != nil {
		t.Fatal(err)
	}
	prepare(t, env)
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "bandwidth-w"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	chosen := size()
	if share := float64(chosen) / float64(free); chosen%(1<<20) != 0 || share > 0.8 || share < 0.75 {
		t.Errorf("%d of %d bytes", chosen, free)
	}
	prepare(t, env)
	if size() != chosen {
		t.Errorf("it was %d and is %d", chosen, size())
	}
	loop := newDeviceEnv(t, devicetest.Loop(t, 10<<20), `{"operations":["Write"]}`)
	if m := measureOnce(t, loop); m.Metrics["write.bytes"].Value != 8<<20 {
		t.Errorf("of a device of 10 MiB, %v bytes", m.Metrics["write.bytes"].Value)
	}
}

func TestATargetThatIsTooSmallIsRefusedBefore(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 16<<20)
	loop := devicetest.Loop(t, 4<<20)
	for name, env := range map[string]workload.Env{
		"a size that is too large":          newEnv(t, dir, `{"size":"16Mi"}`),
		"a device that is too small":        newDeviceEnv(t, loop, `{"size":"5Mi"}`),
		"no room for a block":               newDeviceEnv(t, loop, `{"blockSize":"4Mi"}`),
		"no room for a block of each depth": newEnv(t, dir, `{"depth":16}`),
	} {
		err := Engine{}.Prepare(t.Context(), env)
		f := trial.AsFailure(err)
		if f.Class != reason.TargetTooSmall || f.Field != "spec.targets[fast].storageClass.size" || f.Remedy == "" {
			t.Errorf("%s: %+v", name, err)
		}
	}
	// All of it is not too much.
	if m := measureOnce(t, newDeviceEnv(t, loop, `{"size":"4Mi"}`)); m.Metrics["read.bytes"].Value != 4<<20 {
		t.Errorf("%+v", m.Metrics)
	}
}

func TestATargetThatFillsUpIsNoSpaceAndWhatWasMeasuredIsKept(t *testing.T) {
	for _, config := range []string{`{"size":"32Mi"}`, `{"size":"32Mi","direct":false,"depth":2}`} {
		dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
		env := newEnv(t, dir, config)
		prepare(t, env)
		// Somebody else writes meanwhile.
		if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 40<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Engine{}.Run(t.Context(), env)
		f := trial.AsFailure(err)
		if f.Class != reason.NoSpace || f.Field != "spec.targets[fast].storageClass.size" || f.Remedy == "" || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %+v", config, err)
		}
		if m == nil || m.Metrics["write.bytes"].Value < 1<<20 || m.Metrics["write.durable.bandwidth"].Value != 0 {
			t.Errorf("%s: what was measured is not kept", config)
		}
		if files, _ := filepath.Glob(dir + "/bandwidth*"); len(files) > 0 {
			t.Errorf("%s: %v are left", config, files)
		}
	}
}

func TestATargetThatIsReadOnlyIsSaidToBe(t *testing.T) {
	dir, loop := devicetest.Filesystem(t, "ext4", 16<<20)
	env := newEnv(t, dir, `{"size":"1Mi"}`)
	prepare(t, env)
	devicetest.Run(t, "mount", "-o", "remount,ro", loop, dir)
	m, err := Engine{}.Run(t.Context(), env)
	f := trial.AsFailure(err)
	if f.Class != reason.TargetUnusable || !strings.Contains(f.Message, "read-only") || !errors.Is(err, syscall.EROFS) || m != nil {
		t.Errorf("got %+v, %+v", err, m)
	}
}

func TestDirectIOThatIsRefusedNamesTheField(t *testing.T) {
	ramfs := t.TempDir()
	devicetest.Mount(t, ramfs, "ramfs", "none")
	env := newEnv(t, ramfs, `{"size":"1Mi"}`)
	if room, err := env.Room(); err != nil || room != math.MaxUint64 {
		t.Errorf("ramfs has room for %d, %v", room, err)
	}
	prepare(t, env)
	_, err := Engine{}.Run(t.Context(), env)
	f := trial.AsFailure(err)
	if f.Class != reason.EngineRefused || f.Field != "spec.workloads[w].bandwidth.direct" || !strings.Contains(f.Remedy, "direct: false") {
		t.Errorf("ramfs: %+v", err)
	}

	file := filepath.Join(t.TempDir(), "disk.img")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 4<<20)); err != nil {
		t.Fatal(err)
	}
	coarse := devicetest.Run(t, "losetup", "--find", "--show", "--sector-size", "4096", file)
	defer func() {
		if out, err := exec.Command("losetup", "--detach", coarse).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}()
	env = newDeviceEnv(t, coarse, `{"size":"1Mi","blockSize":"512"}`)
	prepare(t, env)
	_, err = Engine{}.Run(t.Context(), env)
	f = trial.AsFailure(err)
	if f.Class != reason.EngineRefused || f.Field != "spec.workloads[w].bandwidth.blockSize" || !strings.Contains(f.Remedy, "4Ki") {
		t.Errorf("sectors of 4 KiB: %+v", err)
	}
}
