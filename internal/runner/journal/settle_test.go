package journal

import (
	"context"
	"errors"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/tunable/tunabletest"
)

// The kernel looks at a disk again after its cache was switched, when the program that switched it has long ended.
// It then changes write_cache, and resets read_ahead_kb.

var switches = []string{"ata.write_cache=off", "scsi.disk.cache_type=write through"}

func machineWithHdparm() *tunabletest.Kernel {
	kernel := machine()
	kernel.InstallHdparm()
	kernel.Set(queue+"read_ahead_kb", "16")
	return kernel
}

func isAsBefore(t *testing.T, kernel *tunabletest.Kernel) {
	t.Helper()
	kernel.Advance(time.Minute)
	is(t, kernel, queue+"read_ahead_kb", "16")
	is(t, kernel, queue+"write_cache", "write back")
	if !kernel.DriveCache("sda") {
		t.Error("the drive's cache is off")
	}
}

func TestWhatTheKernelChangesLaterIsWaitedFor(t *testing.T) {
	for _, setting := range switches {
		kernel, disk := machineWithHdparm(), &memory{}
		j := journalOf(t, kernel.Host(), disk, "")
		apply(t, j, kernel, "sda", setting)
		for _, c := range j.entries[0].Companions {
			want := map[string]string{"block.queue.write_cache": "write through", "block.queue.read_ahead_kb": "2560"}[c.Tunable]
			if want != "" && (c.Seen == nil || c.Seen.Value != want) {
				t.Errorf("%s: %s was seen as %v", setting, c.Tunable, c.Seen)
			}
		}
		kernel.Advance(time.Minute)
		putBackBy(t, j, disk)
		isAsBefore(t, kernel)
	}
}

// What is set next is not undone by it.
func TestASettingAfterASwitchedCacheStays(t *testing.T) {
	for _, setting := range switches {
		kernel, disk := machineWithHdparm(), &memory{}
		j := journalOf(t, kernel.Host(), disk, "")
		apply(t, j, kernel, "sda", setting, "block.queue.read_ahead_kb=64")
		kernel.Advance(time.Minute)
		is(t, kernel, queue+"read_ahead_kb", "64")
		putBackBy(t, j, disk)
		isAsBefore(t, kernel)
	}
}

func TestAProcessMayBeKilledWhileADiskIsLookedAt(t *testing.T) {
	for _, setting := range switches {
		steps := 0
		for n := 1; ; n++ {
			kernel, disk := machineWithHdparm(), &memory{}
			assignments := plan(t, kernel, "sda", setting)
			j, at := killedAt(t, kernel, disk, n, func(j *Journal) {
				if _, err := j.Apply(t.Context(), owner, assignments); err != nil {
					t.Fatal(err)
				}
				putBackBy(t, j, disk)
			})
			if j == nil {
				isAsBefore(t, kernel)
				break
			}
			putBackBy(t, j, disk)
			isAsBefore(t, kernel)
			if steps++; t.Failed() {
				t.Fatalf("%s: killed at %s", setting, at)
			}
		}
		if steps < 10 {
			t.Errorf("%s: %d steps", setting, steps)
		}
	}
}

func TestWhoIsToldToStopWhileADiskIsLookedAtLeavesNothing(t *testing.T) {
	for _, setting := range switches {
		kernel, disk := machineWithHdparm(), &memory{}
		ctx, cancel := context.WithCancel(t.Context())
		h := kernel.Host()
		wait := h.Wait
		h.Wait = func(given context.Context, d time.Duration) error { cancel(); return wait(given, d) }
		j := journalOf(t, h, disk, "")
		if _, err := j.Apply(ctx, owner, plan(t, kernel, "sda", setting)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", setting, err)
		}
		if disk.file != nil {
			t.Errorf("%s: the journal holds %q", setting, disk.file)
		}
		isAsBefore(t, kernel)
		// Or while it is restored, which the next process goes on with.
		kernel = machineWithHdparm()
		j = journalOf(t, kernel.Host(), disk, "")
		apply(t, j, kernel, "sda", setting)
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		if report := j.Restore(ctx); report.Count(Failed) != 1 {
			t.Errorf("%s: %v", setting, report.Items)
		}
		putBackBy(t, journalOf(t, kernel.Host(), disk, ""), disk)
		isAsBefore(t, kernel)
	}
}

// A drive that was attached anew has flushes, and the read-ahead that somebody has set since.
func TestAFreshDriveIsWaitedForToo(t *testing.T) {
	for _, setting := range switches {
		kernel, disk := machineWithHdparm(), &memory{}
		j := journalOf(t, kernel.Host(), disk, "")
		apply(t, j, kernel, "sda", setting)
		kernel.Reboot(nil)
		kernel.Set(queue+"read_ahead_kb", "16")
		putBackBy(t, journalOf(t, kernel.Host(), disk, ""), disk)
		isAsBefore(t, kernel)
	}
}
