package journal

import (
	"context"
	"errors"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/tunable/tunabletest"
)

// What happens between a plan, its writes and their restoring, when others are at work on the same node.

// journalOf opens a journal that may be killed at a step.
func journalOf(t *testing.T, h tunable.Host, disk *memory, at Step) *Journal {
	t.Helper()
	j, err := open(Options{Host: h, Hook: func(s Step) {
		if s == at {
			panic(killed{s})
		}
	}}, disk)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// dies runs something that is killed.
func dies(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if _, ok := recover().(killed); !ok {
			t.Fatal("it was not killed")
		}
	}()
	f()
}

func putBackBy(t *testing.T, j *Journal, disk *memory) {
	t.Helper()
	if report := j.Restore(t.Context()); !report.Complete() || disk.file != nil {
		t.Errorf("%s: %v; the journal holds %q", report, report.Items, disk.file)
	}
}

func is(t *testing.T, kernel *tunabletest.Kernel, name, want string) {
	t.Helper()
	if got := kernel.Get(name); got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

// The disk of a plan is the kernel's object: the same drive that was attached again is another.
func TestADiskThatWasAttachedAnewSinceThePlanIsNotWritten(t *testing.T) {
	for _, setting := range []string{"block.queue.write_cache=write through", "scsi.disk.cache_type=write through"} {
		for _, wwid := range []string{"wwid-a", "wwid-of-another"} {
			kernel, disk := machine(), &memory{}
			assignments := plan(t, kernel, "sda", setting)
			kernel.Detach("sda")
			kernel.Attach("sda", "8:0", wwid)
			j := journalOf(t, kernel.Host(), disk, "")
			if _, err := j.Apply(t.Context(), owner, assignments); err == nil || !strings.Contains(err.Error(), "it was attached again, or another disk took its name; run the benchmark again") {
				t.Errorf("%s, %s: %v", setting, wwid, err)
			}
			putBackBy(t, j, disk)
			is(t, kernel, queue+"write_cache", "write back")
			if !kernel.DriveCache("sda") {
				t.Errorf("%s, %s: the drive's cache is off", setting, wwid)
			}
		}
	}
}

// zfs waits in the kernel for a pool that is suspended, where nobody can kill it. The pool makes the
// changes that were asked for one after the other, once it is there again.
func TestAPropertyThatIsSetLateIsPutBackAfterThat(t *testing.T) {
	for _, killedThen := range []bool{false, true} {
		kernel, disk := machine(), &memory{}
		h := kernel.Host()
		run, late := h.Run, []string(nil)
		h.Run = func(ctx context.Context, argv []string) (string, error) {
			if argv[0] != "zfs" || argv[1] == "get" {
				return run(ctx, argv)
			}
			if late == nil {
				if late = argv; killedThen {
					panic(killed{AfterJournal})
				}
				return "", errors.New("timed out and could not be killed")
			}
			if _, err := run(ctx, late); err != nil {
				return "", err
			}
			return run(ctx, argv)
		}
		j := journalOf(t, h, disk, "")
		change := func() {
			if _, err := j.Apply(t.Context(), owner, plan(t, kernel, "", "zfs.dataset.sync=disabled")); err == nil {
				t.Error("it was set")
			}
		}
		if killedThen {
			dies(t, change)
			j = journalOf(t, h, disk, "")
		} else {
			change()
		}
		putBackBy(t, j, disk)
		if got := kernel.ZFS("get", "-H", "-p", "-o", "value,source", "sync", "tank/bench"); got != "standard\tdefault" {
			t.Errorf("killed %v: sync is %q", killedThen, got)
		}
	}
}

// A pool may be imported while it is asked for: its dataset is not destroyed.
func TestADatasetWhosePoolHasJustComeIsNotGone(t *testing.T) {
	kernel, disk := machine(), &memory{}
	j := journalOf(t, kernel.Host(), disk, "")
	if _, err := j.Apply(t.Context(), owner, plan(t, kernel, "", "zfs.dataset.sync=disabled")); err != nil {
		t.Fatal(err)
	}
	h := kernel.Host()
	run, asked := h.Run, 0
	for come := range 4 {
		h.Run = func(ctx context.Context, argv []string) (string, error) {
			asked++
			switch {
			case asked > come:
				return run(ctx, argv)
			case argv[len(argv)-1] == "guid":
				return "", nil
			default:
				return "", errors.New("dataset does not exist")
			}
		}
		asked = 0
		if l, err := h.Locate(t.Context(), j.entries[0].Knob, true); err == nil && l.Presence == tunable.Gone {
			t.Errorf("come after %d questions: %+v", come, l)
		}
	}
}

func TestADatasetWhoseParentHasAnotherNameIsPutBack(t *testing.T) {
	kernel, disk := machine(), &memory{}
	kernel.ZFS("set", "sync=always", "tank")
	j := journalOf(t, kernel.Host(), disk, "")
	if _, err := j.Apply(t.Context(), owner, plan(t, kernel, "", "zfs.dataset.sync=disabled")); err != nil {
		t.Fatal(err)
	}
	kernel.Rename("tank", "pond")
	kernel.Rename("tank/bench", "pond/bench")
	putBackBy(t, j, disk)
	if got := kernel.ZFS("get", "-H", "-p", "-o", "value,source", "sync", "pond/bench"); got != "always\tinherited from pond" {
		t.Errorf("sync is %q", got)
	}
}

// ZFS has one name for both.
func TestALevelThatIsTheDefaultIsReadBack(t *testing.T) {
	for _, dies := range []bool{false, true} {
		kernel, disk := machine(), &memory{}
		assignments := plan(t, kernel, "", "zfs.dataset.compression=gzip-6")
		at := 0
		if dies {
			at = 3
		}
		next, step := killedAt(t, kernel, disk, at, func(j *Journal) {
			if _, err := j.Apply(t.Context(), owner, assignments); err != nil {
				t.Error(err)
			}
		})
		if next == nil {
			next = journalOf(t, kernel.Host(), disk, "")
		} else if step != AfterWrite {
			t.Errorf("killed at %s", step)
		}
		if got := kernel.ZFS("get", "-H", "-p", "-o", "value,source", "compression", "tank/bench"); got != "gzip\tlocal" {
			t.Errorf("it is %q", got)
		}
		putBackBy(t, next, disk)
		if got := kernel.ZFS("get", "-H", "-p", "-o", "value,source", "compression", "tank/bench"); got != "on\tdefault" {
			t.Errorf("it is %q again", got)
		}
	}
}

// Killed before it could be recorded what the kernel had made of a write.
func TestWhatAWriteThatWasNotRecordedHasResetIsPutBack(t *testing.T) {
	for _, setBack := range []bool{false, true} {
		kernel, disk := machine(), &memory{}
		kernel.Set(queue+"read_ahead_kb", "16")
		assignments := plan(t, kernel, "sda", "block.queue.write_cache=write through")
		dies(t, func() { _, _ = journalOf(t, kernel.Host(), disk, AfterWrite).Apply(t.Context(), owner, assignments) })
		if setBack {
			kernel.Set(queue+"write_cache", "write back")
		}
		kernel.Set(queue+"nomerges", "2") // which no kernel resets with it: a person has
		putBackBy(t, journalOf(t, kernel.Host(), disk, ""), disk)
		is(t, kernel, queue+"write_cache", "write back")
		is(t, kernel, queue+"read_ahead_kb", "16")
		is(t, kernel, queue+"nomerges", "2")
	}
}

// A rule of udev sets the scheduler back, and so resets what goes with it.
func TestWhatSomebodyResetsBySettingAKnobBackIsPutBack(t *testing.T) {
	kernel, disk := machine(), &memory{}
	kernel.Set(queue+"nr_requests", "64")
	j := journalOf(t, kernel.Host(), disk, "")
	if _, err := j.Apply(t.Context(), owner, plan(t, kernel, "sda", "block.queue.scheduler=bfq")); err != nil {
		t.Fatal(err)
	}
	kernel.Set(queue+"scheduler", "none")
	putBackBy(t, j, disk)
	is(t, kernel, queue+"nr_requests", "64")
}

// A scheduler forgets what it was told when another takes its place.
func TestWhatASchedulerHasOfItsOwnIsPutBack(t *testing.T) {
	const expire = queue + "iosched/read_expire"
	for _, setting := range []string{"block.queue.scheduler=none", "block.queue.nr_requests=64"} {
		kernel, disk := machine(), &memory{}
		kernel.Set(queue+"scheduler", "mq-deadline")
		kernel.Set(expire, "100")
		kernel.Set(queue+"iosched/async_depth", "17")
		j := journalOf(t, kernel.Host(), disk, "")
		if _, err := j.Apply(t.Context(), owner, plan(t, kernel, "sda", setting)); err != nil {
			t.Fatal(err)
		}
		putBackBy(t, j, disk)
		is(t, kernel, expire, "100")
		is(t, kernel, queue+"iosched/async_depth", "17")
	}
}

// New kernels have async_depth with the queue: it is rescaled with the number of requests, and begins anew with each
// scheduler. Without one the kernel shows it, and refuses to set it.
func TestTheAsyncDepthOfAQueueIsPutBack(t *testing.T) {
	const depth = queue + "async_depth"
	for _, c := range []struct{ before, setting string }{
		{"mq-deadline", "block.queue.nr_requests=7"},
		{"mq-deadline", "block.queue.scheduler=none"},
		{"mq-deadline", "block.queue.scheduler=bfq"},
		{"none", "block.queue.scheduler=mq-deadline"},
		{"none", "block.queue.nr_requests=7"},
	} {
		kernel, disk := machine(), &memory{}
		kernel.MoveAsyncDepth("sda")
		want := "128"
		if c.before != "none" {
			want = "101"
			kernel.Set(queue+"scheduler", c.before)
			kernel.Set(depth, want)
		}
		j := journalOf(t, kernel.Host(), disk, "")
		apply(t, j, kernel, "sda", c.setting)
		if kernel.Get(depth) == want {
			t.Errorf("%v: the kernel has not changed it", c)
		}
		putBackBy(t, j, disk)
		is(t, kernel, depth, want)
	}
	kernel, disk := machine(), &memory{}
	kernel.MoveAsyncDepth("sda")
	kernel.Set(queue+"scheduler", "mq-deadline")
	kernel.Set(queue+"nr_requests", "100")
	j := journalOf(t, kernel.Host(), disk, "")
	apply(t, j, kernel, "sda", "block.queue.nr_requests=7")
	kernel.Set(queue+"scheduler", "none") // by a rule of udev
	kernel.Set(queue+"nr_requests", "7")
	putBackBy(t, j, disk)
	if _, err := tunable.Find("block.queue.async_depth"); err == nil {
		t.Error("a benchmark can set it")
	}
}

// Its parameter may hold what ZFS has ignored.
func TestTheTextOfALimitOfTheARCIsPutBack(t *testing.T) {
	const parameter = "/sys/module/zfs/parameters/zfs_arc_max"
	kernel, disk := machine(), &memory{}
	kernel.Set(parameter, "67108864") // less than the least
	before := kernel.Get(parameter)
	j := journalOf(t, kernel.Host(), disk, "")
	if _, err := j.Apply(t.Context(), owner, plan(t, kernel, "", "zfs.module.zfs_arc_max=1G")); err != nil {
		t.Fatal(err)
	}
	putBackBy(t, j, disk)
	is(t, kernel, parameter, before)
}
