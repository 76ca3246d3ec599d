//go:build truth

package truth

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// beneath are lies of what is below the file system that is measured, where its own options say nothing.
var beneath = []kind{
	{
		name: "a disk that becomes one hole", verdict: "CachedBelow", operation: "read", invalid: true, timed: true,
		lie:  emptied("--punch-hole"),
		twin: emptied("--keep-size"),
	},
	{
		name: "a file system of memory without a limit", verdict: "MemoryBacked", operation: "write", invalid: true,
		lie: func(t *testing.T) world {
			t.Helper()
			dir := t.TempDir()
			devicetest.Mount(t, dir, "ramfs", "truth", "-o", "mode=0755")
			return world{target: dir, workload: fio(randomWrite)}
		},
		twin: on(fio(randomWrite + direct)),
	},
	{
		name: "a directory of a file system of memory", verdict: "MemoryBacked", operation: "read", invalid: true,
		lie: func(t *testing.T) world {
			t.Helper()
			return world{target: bound(t, memory(t)), workload: fio(randomRead)}
		},
		twin: func(t *testing.T) world {
			t.Helper()
			return world{target: bound(t, ext4(t, disk(t))), workload: fio(randomRead + direct)}
		},
	},
	{
		name: "a loop device whose file is on an overlay that never syncs", verdict: "UnsafeConfiguration", operation: "sync", invalid: true,
		lie:  imageOn(func(t *testing.T) string { t.Helper(); return overlay(t, ext4(t, disk(t)), "volatile") }),
		twin: imageOn(func(t *testing.T) string { t.Helper(); return overlay(t, ext4(t, disk(t))) }),
	},
	{
		name: "a loop device whose file is on a file system without barriers", verdict: "UnsafeConfiguration", operation: "sync", invalid: true,
		lie:  imageOn(func(t *testing.T) string { t.Helper(); return ext4With(t, "barrier=0") }),
		twin: imageOn(func(t *testing.T) string { t.Helper(); return ext4With(t, "barrier=1") }),
	},
	{
		name: "writes that sync and flush nothing", verdict: "UnsafeConfiguration", operation: "write", invalid: true,
		lie:  made("ext4", "barrier=0", fio(`rw=write\nbs=4k\nsize=8m\nsync=1\n`)),
		twin: made("ext4", "barrier=1", fio(`rw=write\nbs=4k\nsize=8m\nsync=1\n`)),
	},
	{
		name: "files that were laid out just now", verdict: "FromMemory", operation: "read", invalid: true,
		lie:  on(fio(randomRead + `invalidate=0\n`)),
		twin: on(fio(randomRead + `invalidate=0\n` + direct)),
	},
	{
		name: "a neighbour that syncs", verdict: "NoisyNeighbour", operation: "", timed: true,
		lie:  neighboured(fio(`rw=write\nbs=4k\nsize=64m\nfdatasync=1\nruntime=3\ntime_based=1\n`), syncs),
		twin: neighboured(fio(`rw=write\nbs=4k\nsize=64m\nfdatasync=1\nruntime=3\ntime_based=1\n`), elsewhere(syncs)),
	},
	{
		name: "a neighbour that only flushes", verdict: "NoisyNeighbour", operation: "", timed: true,
		lie:  neighboured(fio(randomRead+direct), flushes),
		twin: neighboured(fio(randomRead+direct), elsewhere(flushes)),
	},
}

// emptied is a world on a raw device whose file loses what was written to it after the first trial has begun.
func emptied(how string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		image := zeros(t, scratch(t), 256<<20)
		device := devicetest.Attach(t, image, "--direct-io=on")
		w := world{target: device, trials: 2, workload: fio(`rw=randread\nbs=16k\nsize=64m\nruntime=6\ntime_based=1\n` + direct)}
		w.meanwhile = inTheMiddle(t, device, readsField, func() error {
			return exec.CommandContext(t.Context(), "fallocate", how, "--keep-size", "--offset", "0", "--length", "256MiB", image).Run()
		})
		return w
	}
}

// bound mounts a directory of a directory again.
func bound(t *testing.T, of string) string {
	t.Helper()
	dir, inner := t.TempDir(), filepath.Join(of, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil { //nolint:gosec // others look into it, as into any mount
		t.Fatal(err)
	}
	devicetest.Run(t, "mount", "--bind", inner, dir)
	undo(t, "umount", dir)
	return dir
}

func ext4With(t *testing.T, option string) string {
	t.Helper()
	device := disk(t)
	format(t, "ext4", device)
	return mount(t, "ext4", device, "-o", option)
}

// imageOn is a world that syncs on a loop device whose file is on a file system.
func imageOn(lower func(*testing.T) string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		return world{target: ext4(t, devicetest.Attach(t, file(t, lower(t), 256<<20), "--direct-io=on")), workload: synced}
	}
}

// neighboured is a world on whose file system somebody else does something until the context ends.
func neighboured(workload string, neighbour func(ctx context.Context, t *testing.T, dir string)) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		w := on(workload)(t)
		w.meanwhile = func(ctx context.Context) { neighbour(ctx, t, w.target) }
		return w
	}
}

// elsewhere has somebody do the same in memory.
func elsewhere(neighbour func(ctx context.Context, t *testing.T, dir string)) func(ctx context.Context, t *testing.T, dir string) {
	return func(ctx context.Context, t *testing.T, _ string) {
		t.Helper()
		neighbour(ctx, t, memory(t))
	}
}

// syncs writes a block and syncs it, again and again.
func syncs(ctx context.Context, t *testing.T, dir string) {
	t.Helper()
	repeat(ctx, t, dir, make([]byte, 4096))
}

// flushes syncs a file that stays as it is.
func flushes(ctx context.Context, t *testing.T, dir string) {
	t.Helper()
	repeat(ctx, t, dir, nil)
}

func repeat(ctx context.Context, t *testing.T, dir string, block []byte) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "neighbour")) //nolint:gosec // a directory of the test
	if err != nil {
		t.Error(err)
		return
	}
	defer func() {
		if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
			t.Error(err)
		}
	}()
	for i := int64(0); ctx.Err() == nil; i++ {
		if _, err := f.WriteAt(block, i%1024*4096); err != nil {
			t.Error(err)
			return
		}
		if err := f.Sync(); err != nil {
			t.Error(err)
			return
		}
	}
}
