//go:build truth

package truth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// layered are lies of what is below the target: devices, file systems, and how they are mounted.
var layered = []kind{
	{
		name: "zeros on compressed memory", verdict: "MemoryBacked", operation: "write", invalid: true,
		lie: func(t *testing.T) world {
			t.Helper()
			return world{target: ext4(t, zram(t)), workload: fio(randomWrite + direct + `zero_buffers=1\n`)}
		},
		twin: on(fio(randomWrite + direct)),
	},
	{
		name: "random data on compressed memory", verdict: "MemoryBacked", operation: "write", invalid: true,
		lie: func(t *testing.T) world {
			t.Helper()
			return world{target: zram(t), workload: fio(randomWrite + direct + `refill_buffers=1\n`)}
		},
		twin: func(t *testing.T) world {
			t.Helper()
			return world{target: blank(t), workload: fio(randomWrite + direct)}
		},
	},
	{
		name: "an overlay whose upper directory is in memory", verdict: "MemoryBacked", operation: "write", invalid: true,
		lie: func(t *testing.T) world {
			t.Helper()
			return world{target: overlay(t, memory(t)), workload: fio(randomWrite)}
		},
		twin: overlaid("", fio(randomWrite+direct)),
	},
	{
		name: "small files in memory", verdict: "MemoryBacked", operation: "filesync", invalid: true,
		lie: func(t *testing.T) world {
			t.Helper()
			return world{target: memory(t), workload: `filesync: {files: 2000}`}
		},
		twin: on(`filesync: {files: 300}`),
	},
	{
		name: "small files that nothing syncs", verdict: "FromMemory", operation: "filesync", invalid: true,
		lie:  on(`filesync: {files: 2000, sync: None}`),
		twin: on(`filesync: {files: 300}`),
	},
	{
		name: "a page cache two loop devices below", verdict: "CachedBelow", operation: "read", invalid: true,
		lie:  stacked("--direct-io=off"),
		twin: stacked("--direct-io=on"),
	},
	{
		name: "a log of XFS in memory", verdict: "MemoryBacked", operation: "sync", invalid: true,
		lie:  logged("xfs", zram),
		twin: logged("xfs", blank),
	},
	{
		name: "a journal of ext4 in memory", verdict: "MemoryBacked", operation: "sync", invalid: true,
		lie:  logged("ext4", zram),
		twin: logged("ext4", blank),
	},
	{
		name: "a stripe in memory", verdict: "MemoryBacked", operation: "", invalid: true,
		lie:  spread("raid0", zram, fio(randomWrite+direct)),
		twin: spread("raid0", blank, fio(randomWrite+direct)),
	},
	{
		name: "a mirror in memory", verdict: "MemoryBacked", operation: "read", invalid: true,
		lie:  spread("raid1", zram, fio(randomRead+direct)),
		twin: spread("raid1", blank, fio(randomRead+direct)),
	},
	{
		name: "an overlay that never syncs", verdict: "UnsafeConfiguration", operation: "sync", invalid: true,
		lie:  overlaid("volatile", synced),
		twin: overlaid("", synced),
	},
	{
		name: "an upper directory without barriers", verdict: "UnsafeConfiguration", operation: "sync", invalid: true,
		lie:  overBarriers("barrier=0", "barrier=1"),
		twin: overBarriers("barrier=1", "barrier=0"),
	},
	{
		name: "barriers that the superblock turns off", verdict: "UnsafeConfiguration", operation: "sync", invalid: true,
		lie:  tuned("nobarrier"),
		twin: tuned("^nobarrier"),
	},
	{
		name: "a volatile cache that is called write-through", verdict: "UnsafeConfiguration", operation: "sync", invalid: true,
		lie:  claimed("write through"),
		twin: claimed("write back"),
	},
	{
		name: "a file system that compresses", verdict: "DataReduced", operation: "write",
		lie:  made("btrfs", "compress-force=lzo", fio(`rw=write\nbs=1m\nsize=128m\nend_fsync=1\nbuffer_compress_percentage=90\nrefill_buffers=1\nfallocate=none\n`)),
		twin: made("btrfs", "nodatacow", fio(`rw=write\nbs=1m\nsize=128m\nend_fsync=1\nrefill_buffers=1\n`)),
	},
	{
		name: "a directory that compresses", verdict: "DataReduced", operation: "write",
		lie: func(t *testing.T) world {
			t.Helper()
			w := made("btrfs", "datacow", fio(`rw=write\nbs=1m\nsize=128m\nend_fsync=1\nbuffer_compress_percentage=90\nrefill_buffers=1\nfallocate=none\n`))(t)
			devicetest.Run(t, "chattr", "+c", w.target)
			return w
		},
		twin: made("btrfs", "nodatacow", fio(`rw=write\nbs=1m\nsize=128m\nend_fsync=1\nrefill_buffers=1\n`)),
	},
	{
		name: "direct I/O that a journal of data prevents", verdict: "DirectIOFallback", operation: "",
		lie:  made("ext4", "data=journal", fio(randomRead+direct)),
		twin: made("ext4", "data=ordered", fio(randomRead+direct)),
	},
	{
		name: "a program that keeps the files", verdict: "NoDeviceEvidence", operation: "",
		lie: func(t *testing.T) world {
			t.Helper()
			return world{target: bindfs(t, ext4(t, disk(t))), workload: fio(randomRead)}
		},
		twin: on(fio(randomRead + direct)),
	},
	{
		name: "buffered reads of a device", verdict: "FromMemory", operation: "read", invalid: true,
		lie:  raw(fio(randomRead + again)),
		twin: raw(fio(randomRead + direct)),
	},
	{
		name: "a small part of a device", verdict: "WorkingSetTooSmall", operation: "read",
		lie:  raw(fio(`rw=randread\nbs=4k\nsize=1m\nioengine=libaio\niodepth=8\ndirect=1\nruntime=3\n`)),
		twin: raw(fio(`rw=randread\nbs=4k\nsize=64m\nioengine=libaio\niodepth=8\ndirect=1\nruntime=3\n`)),
	},
	{
		name: "buffered writes on XFS", verdict: "FromMemory", operation: "write", invalid: true,
		lie:  xfs(fio(`rw=write\nbs=1m\nsize=128m\n`)),
		twin: xfs(fio(`rw=write\nbs=1m\nsize=128m\nend_fsync=1\n`)),
	},
	{
		name: "reads that come again on XFS", verdict: "FromMemory", operation: "read", invalid: true,
		lie:  xfs(fio(randomRead + again)),
		twin: xfs(fio(randomRead + direct)),
	},
}

// zram is a device of compressed memory of its own.
func zram(t *testing.T) string {
	t.Helper()
	const control = "/sys/class/zram-control"
	if _, err := os.Stat(control); err != nil {
		t.Fatalf("this kind of lie needs zram, which this kernel has not loaded (modprobe zram): %v", err)
	}
	number := devicetest.Run(t, "cat", control+"/hot_add")
	undo(t, "sh", "-c", `echo "$1" > "$2"`, "sh", number, control+"/hot_remove")
	write(t, "/sys/block/zram"+number+"/disksize", "536870912")
	return "/dev/zram" + number
}

// write writes a setting of a device that the test made.
func write(t *testing.T, path, value string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

// blank is a loop device of 256 MiB without content, past the page cache.
func blank(t *testing.T) string {
	t.Helper()
	return devicetest.Attach(t, zeros(t, scratch(t), 256<<20), "--direct-io=on")
}

func raw(workload string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		return world{target: blank(t), workload: workload}
	}
}

func xfs(workload string) func(t *testing.T) world { return made("xfs", "defaults", workload) }

// made is a world on a file system of its own, mounted with an option.
func made(kind, option, workload string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		format(t, kind, device)
		return world{target: mount(t, kind, device, "-o", option), workload: workload}
	}
}

// logged is a world that syncs on a file system whose log, or journal, is on a device of its own.
func logged(kind string, other func(*testing.T) string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device, log := disk(t), other(t)
		if kind == "xfs" {
			devicetest.Run(t, "mkfs.xfs", "-q", "-f", "-K", "-s", "size=4096", "-l", "logdev="+log+",size=96m", device)
			return world{target: mount(t, kind, device, "-o", "logdev="+log), workload: synced}
		}
		devicetest.Run(t, "mkfs.ext4", "-q", "-E", "nodiscard", "-b", "4096", "-O", "journal_dev", log)
		devicetest.Run(t, "mkfs.ext4", "-q", "-b", "4096", "-E", "lazy_itable_init=0,nodiscard", "-J", "device="+log, device)
		return world{target: mount(t, kind, device), workload: synced}
	}
}

// spread is a world on a btrfs that spreads its data over a disk and another device.
func spread(profile string, other func(*testing.T) string, workload string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		devicetest.Run(t, "mkfs.btrfs", "-q", "-f", "-K", "-d", profile, "-m", "raid1", device, other(t))
		return world{target: mount(t, "btrfs", device, "-o", "nodatacow"), workload: workload}
	}
}

// overlay mounts an overlay whose directories are in a directory.
func overlay(t *testing.T, in string, options ...string) string {
	t.Helper()
	return overlayOn(t, in, in, options...)
}

// overlayOn mounts an overlay whose upper directory is in one directory, and its lower one in another.
func overlayOn(t *testing.T, in, under string, options ...string) string {
	t.Helper()
	for _, dir := range []string{under + "/lower", in + "/upper", in + "/work"} {
		if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // others look into it, as into any mount
			t.Fatal(err)
		}
	}
	options = append(options, "lowerdir="+under+"/lower", "upperdir="+in+"/upper", "workdir="+in+"/work")
	dir := t.TempDir()
	devicetest.Mount(t, dir, "overlay", "truth", "-o", strings.Join(options, ","))
	return dir
}

// overlaid is a world on an overlay on an ext4.
func overlaid(option, workload string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		var options []string
		if option != "" {
			options = append(options, option)
		}
		return world{target: overlay(t, ext4(t, disk(t)), options...), workload: workload}
	}
}

// overBarriers is a world on an overlay whose directories are on file systems of their own, mounted with options.
func overBarriers(upper, lower string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		return world{target: overlayOn(t, ext4With(t, upper), ext4With(t, lower)), workload: synced}
	}
}

// stacked is a world on a loop device whose file is on another one.
func stacked(option string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		lower := ext4(t, devicetest.Attach(t, file(t, scratch(t), 512<<20), option))
		return world{target: ext4(t, devicetest.Attach(t, file(t, lower, 256<<20), "--direct-io=on")), workload: fio(randomRead + direct)}
	}
}

// tuned is a world whose ext4 has an option in its superblock, which no table of mounts shows.
func tuned(option string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		format(t, "ext4", device)
		devicetest.Run(t, "tune2fs", "-o", option, device)
		return world{target: mount(t, "ext4", device), workload: synced}
	}
}

// claimed is a world whose device the kernel takes for one with, or without, a volatile cache.
func claimed(cache string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		setting := "/sys/block/" + filepath.Base(device) + "/queue/write_cache"
		undo(t, "sh", "-c", `echo "write back" > "$1"`, "sh", setting)
		write(t, setting, cache)
		return world{target: ext4(t, device), workload: synced}
	}
}

// bindfs mounts a directory again, by a program.
func bindfs(t *testing.T, of string) string {
	t.Helper()
	dir := t.TempDir()
	devicetest.Run(t, "bindfs", of, dir)
	undo(t, "umount", dir)
	return dir
}
