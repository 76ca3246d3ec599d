//go:build truth

package truth

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// changed are lies of what is not counted, and of what is changed while nobody looks.
var changed = []kind{
	{
		name: "XFS on a disk that is not counted", verdict: "NoDeviceEvidence", never: []string{"FromMemory", "CachedBelow", "BackgroundIO", "NoisyNeighbour"},
		lie:  counted("xfs", "0", "--direct-io=on", fio(randomRead+direct)),
		twin: counted("xfs", "1", "--direct-io=on", fio(randomRead+direct)),
	},
	{
		name: "a page cache below a loop device that is not counted", verdict: "CachedBelow", operation: "read", never: []string{"FromMemory"},
		lie:  counted("ext4", "0", "--direct-io=off", fio(randomRead+direct)),
		twin: counted("ext4", "1", "--direct-io=on", fio(randomRead+direct)),
	},
	{
		name: "a working set that memory holds", verdict: "WorkingSetTooSmall", operation: "read", never: []string{"FromMemory"},
		lie:  counted("ext4", "0", "--direct-io=on", fio(randomRead)),
		twin: counted("ext4", "1", "--direct-io=on", fio(randomRead+direct)),
	},
	{
		name: "counters that are turned off in mid-trial", verdict: "NoDeviceEvidence", never: []string{"FromMemory", "NoisyNeighbour"}, timed: true,
		lie:  switched("0"),
		twin: switched("1"),
	},
	{
		name: "barriers that are turned off in mid-trial", verdict: "UnsafeConfiguration", operation: "sync", invalid: true, timed: true,
		lie:  remounted("barrier=0"),
		twin: remounted("barrier=1"),
	},
	{
		name: "a limit that begins in mid-trial", verdict: "Throttled", operation: "read", timed: true,
		lie:  limited(4 << 20),
		twin: limited(32 << 30),
	},
	{
		name: "reads of holes", verdict: "ThinReads", operation: "read", invalid: true,
		lie:  punched("--punch-hole"),
		twin: punched(""),
	},
	{
		name: "reads of unwritten extents", verdict: "ThinReads", operation: "read", invalid: true,
		lie:  punched("--zero-range"),
		twin: punched(""),
	},
	{
		name: "a depth that the engine ignores", verdict: "DepthIgnored",
		lie:  on(fio(`rw=randread\nbs=4k\nsize=64m\nioengine=psync\niodepth=32\ndirect=1\nruntime=3\n`)),
		twin: on(fio(`rw=randread\nbs=4k\nsize=64m\nioengine=libaio\niodepth=32\ndirect=1\nruntime=3\n`)),
	},
	{
		name: "a depth that libaio ignores", verdict: "DepthIgnored",
		lie:  on(fio(`rw=randread\nbs=4k\nsize=64m\nioengine=libaio\niodepth=32\nruntime=3\n`)),
		twin: on(fio(`rw=randread\nbs=4k\nsize=64m\nioengine=libaio\niodepth=32\ndirect=1\nruntime=3\n`)),
	},
	{
		name: "programs that compute on the same processor", verdict: "CPUBound", operation: "read", timed: true,
		lie:  computing("0"),
		twin: computing("1"),
	},
	{
		name: "a program that keeps the files and stalls", verdict: "NotSteady", operation: "write", timed: true,
		lie:  stalling(true),
		twin: stalling(false),
	},
	{
		name: "a neighbour in some trials only", verdict: "NoisyNeighbour", operation: "read", timed: true,
		lie:  sometimes(true),
		twin: sometimes(false),
	},
	{
		name: "a neighbour in the middle of a trial", verdict: "NoisyNeighbour", operation: "read", timed: true,
		lie:  passing(true),
		twin: passing(false),
	},
	{
		// At this pace it is a small share of what the disk does: only the kernel's word tells of it.
		name: "a scrub of btrfs", verdict: "BackgroundIO", operation: "read", timed: true,
		lie:  scrubbed(true),
		twin: scrubbed(false),
	},
	{
		name: "a file system that is still being initialised", verdict: "BackgroundIO", operation: "read", timed: true,
		lie:  initialising(true),
		twin: initialising(false),
	},
	{
		name: "two targets on one disk", verdict: "SameDevice",
		lie: func(t *testing.T) world {
			t.Helper()
			return world{target: ext4(t, disk(t)), second: ext4(t, disk(t)), workload: fio(randomRead + direct)}
		},
		twin: func(t *testing.T) world {
			t.Helper()
			return world{target: ext4(t, disk(t)), second: memory(t), workload: fio(randomRead + direct)}
		},
	},
	{
		name: "a loop device whose file is on an overlay in memory", verdict: "MemoryBacked", operation: "write", invalid: true,
		lie:  onOverlay(memory),
		twin: onOverlay(func(t *testing.T) string { t.Helper(); return ext4(t, disk(t)) }),
	},
	{
		name: "btrfs without barriers", verdict: "UnsafeConfiguration", operation: "sync", invalid: true,
		lie:  made("btrfs", "nodatasum,nobarrier", synced),
		twin: made("btrfs", "nodatasum,barrier", synced),
	},
	{
		name: "dd with blocks of 8 KiB", verdict: "BlockSizeLimited", operation: "write",
		lie:  on(`bandwidth: {size: 32Mi, blockSize: 8Ki, depth: 1, operations: [Write]}`),
		twin: on(`bandwidth: {size: 128Mi, blockSize: 1Mi, depth: 1, operations: [Write]}`),
	},
}

// counted is a world whose disk the kernel counts, or not.
func counted(kind, iostats, option, workload string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := devicetest.Attach(t, file(t, scratch(t), 512<<20), option)
		setCounted(t, device, iostats)
		format(t, kind, device)
		return world{target: mount(t, kind, device), workload: workload}
	}
}

// setCounted makes the kernel count a loop device's I/O or not, and count it again when the test ends.
func setCounted(t *testing.T, device, iostats string) {
	t.Helper()
	setting := "/sys/block/" + filepath.Base(device) + "/queue/iostats"
	undo(t, "sh", "-c", `echo 1 > "$1"`, "sh", setting)
	write(t, setting, iostats)
}

// switched is a world whose disk the kernel begins to count, or stops to, in the middle of the trial, and again after three seconds.
func switched(iostats ...string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		setCounted(t, device, "1")
		w := world{target: ext4(t, device), workload: fio(`rw=randread\n` + steadily)}
		w.meanwhile = inTheMiddle(t, device, readsField, func() error {
			for i, value := range iostats {
				if i > 0 {
					time.Sleep(3 * time.Second)
				}
				if err := os.WriteFile("/sys/block/"+filepath.Base(device)+"/queue/iostats", []byte(value), 0); err != nil {
					return err
				}
			}
			return nil
		})
		return w
	}
}

// remounted is a world whose file system is mounted again with an option in the middle of the trial.
func remounted(option string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		w := world{target: ext4(t, device), workload: fio(`rw=randwrite\nbs=4k\nsize=8m\nfdatasync=1\nruntime=8\ntime_based=1\n`)}
		w.meanwhile = inTheMiddle(t, device, writesField, func() error {
			return exec.CommandContext(t.Context(), "mount", "-o", "remount,"+option, w.target).Run()
		})
		return w
	}
}

// limited is a world in which a limit of reads is lowered in the middle of the trial.
func limited(rate int) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		w := world{target: ext4(t, device), workload: fio(`rw=randread\n` + steadily)}
		w.cgroup = []limit{{what: "read", value: 64 << 30, device: device}}
		number := devicetest.Run(t, "cat", "/sys/class/block/"+filepath.Base(device)+"/dev")
		w.meanwhile = inTheMiddle(t, device, readsField, func() error {
			return os.WriteFile(filepath.Join(cgroupDirectory("blkio", 0), "blkio.throttle.read_bps_device"), []byte(number+" "+strconv.Itoa(rate)), 0o600)
		})
		return w
	}
}

// punched is a world whose files lose what was written to them after the first trial has begun.
func punched(how string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		w := world{target: ext4(t, device), trials: 2, workload: fio(`rw=randread\nbs=16k\nsize=64m\nruntime=6\ntime_based=1\n` + direct)}
		w.meanwhile = inTheMiddle(t, device, readsField, func() error {
			if how == "" {
				return nil
			}
			return filepath.Walk(w.target, func(path string, info os.FileInfo, err error) error {
				if err != nil || !info.Mode().IsRegular() {
					return err
				}
				return exec.CommandContext(t.Context(), "fallocate", how, "--keep-size", "--offset", "0", "--length", "64MiB", path).Run()
			})
		})
		return w
	}
}

// computing is a world on processor 0, in which programs compute on one.
func computing(processor string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		w := on(fio(randomRead + direct))(t)
		w.prefix = []string{"taskset", "--cpu-list", "0"}
		w.meanwhile = func(ctx context.Context) {
			done := make(chan error, 4)
			for range cap(done) {
				go func() {
					done <- exec.CommandContext(ctx, "taskset", "--cpu-list", processor, "sh", "-c", "while :; do :; done").Run()
				}()
			}
			for range cap(done) {
				<-done // they end when the context does
			}
		}
		return w
	}
}

// stalling is a world whose files a program keeps, which stands still for a while, or does not.
func stalling(really bool) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device, dir := disk(t), t.TempDir()
		cmd := exec.CommandContext(t.Context(), "bindfs", "-f", ext4(t, device), dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Wait() }) // it ends when its file system is unmounted
		undo(t, "umount", dir)
		devicetest.Run(t, "sh", "-c", `for i in $(seq 100); do mountpoint -q "$1" && exit; sleep 0.1; done; exit 1`, "sh", dir)
		w := world{target: dir, workload: fio(`rw=randwrite\nbs=16k\nsize=64m\nruntime=8\ntime_based=1\noverwrite=1\nfsync=16\n`), deserved: []string{"NoDeviceEvidence"}}
		if really {
			w.meanwhile = inTheMiddle(t, device, writesField, func() error {
				err := cmd.Process.Signal(syscall.SIGSTOP)
				time.Sleep(time.Second)
				return errors.Join(err, cmd.Process.Signal(syscall.SIGCONT))
			})
		}
		return w
	}
}

// sometimes is a world in which somebody else reads in the first of three trials: the same disk, or
// one in memory.
func sometimes(same bool) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		w := beside(same, reads)(t)
		w.trials = 3
		always := w.meanwhile
		w.meanwhile = func(ctx context.Context) {
			// A trial takes two seconds, and at least as long before it.
			first, stop := context.WithTimeout(ctx, 5*time.Second)
			defer stop()
			always(first)
		}
		return w
	}
}

// passing is a world in which somebody else reads for three seconds in the middle of the trial.
func passing(same bool) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		w := beside(same, reads)(t)
		w.workload = fio(`rw=randread\n` + steadily)
		always := w.meanwhile
		device := devicetest.Run(t, "findmnt", "--noheadings", "--output", "SOURCE", w.target)
		w.meanwhile = inTheMiddle(t, device, readsField, func() error {
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
			defer stop()
			always(ctx)
			return nil
		})
		return w
	}
}

// scrubbed is a world on a btrfs that the kernel scrubs from before the trial until after it, or not.
func scrubbed(really bool) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		w := made("btrfs", "nodatacow", fio(randomRead+direct))(t)
		file(t, w.target, 128<<20)
		if really {
			devicetest.Scrub(t, w.target, 2<<20)
		}
		return w
	}
}

// initialising is a world on an ext4 of which mkfs has written no tables of inodes: the kernel does so after the first mount, or does not.
func initialising(really bool) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		image := filepath.Join(scratch(t), "disk.img")
		devicetest.Run(t, "truncate", "--size=64G", image) // of which a sixty-fourth are tables
		device := devicetest.Attach(t, image, "--direct-io=on")
		devicetest.Run(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=1,nodiscard", device)
		w := world{workload: fio(randomRead + direct)}
		if !really {
			w.target = mount(t, "ext4", device, "-o", "noinit_itable")
			return w
		}
		w.target = mount(t, "ext4", device, "-o", "init_itable=40") // so slowly that it goes on after the trial
		// The kernel begins some seconds later. 16 MiB are more than mounting writes; a sector has 512 bytes.
		devicetest.Run(t, "sh", "-c", `from=$(awk '{ print $7 }' "$1"); for i in $(seq 300); do
			awk -v from="$from" '{ exit $7 - from < 16 * 2048 }' "$1" && exit; sleep 0.1; done; exit 1`, "sh", "/sys/block/"+filepath.Base(device)+"/stat")
		return w
	}
}

// onOverlay is a world on a loop device whose file is on an overlay.
func onOverlay(upper func(t *testing.T) string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		image := file(t, overlay(t, upper(t)), 256<<20)
		return world{target: ext4(t, devicetest.Attach(t, image, "--direct-io=on")), workload: fio(randomWrite + direct)}
	}
}
