package journal

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/tunable/tunabletest"
)

var many = []string{
	"block.queue.write_cache=write through", "block.queue.scheduler=bfq", "block.queue.nr_requests=200", "block.queue.read_ahead_kb=128",
	"vm.dirty_bytes=65536", "zfs.module.zfs_arc_max=1G", "zfs.dataset.sync=disabled",
}

// killedAt runs f in a process that is killed at the nth step, and returns the
// journal of the next process, or nil if the first one came to its end.
func killedAt(t *testing.T, kernel *tunabletest.Kernel, disk *memory, n int, f func(j *Journal)) (next *Journal, at Step) {
	t.Helper()
	j, err := open(Options{Host: kernel.Host(), Hook: func(s Step) {
		if n--; n == 0 {
			panic(killed{s})
		}
	}}, disk)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if k, ok := recover().(killed); ok {
			at = k.at
			if next, err = open(Options{Host: kernel.Host()}, disk); err != nil {
				t.Fatal(err)
			}
		}
	}()
	f(j)
	return nil, ""
}

func TestAProcessMayBeKilledAtAnyStep(t *testing.T) {
	seen := map[Step]int{}
	for n := 1; ; n++ {
		kernel, disk := machine(), &memory{}
		kernel.Set(queue+"nr_requests", "64")
		kernel.Set(queue+"read_ahead_kb", "16")
		before := snapshot(kernel)
		assignments := plan(t, kernel, "sda", many...)
		j, at := killedAt(t, kernel, disk, n, func(j *Journal) {
			if _, err := j.Apply(t.Context(), owner, assignments); err != nil {
				t.Fatal(err)
			}
			if report := j.Restore(t.Context()); !report.Complete() {
				t.Fatal(report)
			}
		})
		if j == nil {
			if n < 60 || snapshot(kernel) != before {
				t.Errorf("it came to its end after %d steps\n%s", n, snapshot(kernel))
			}
			break
		}
		seen[at]++
		// The second process is killed as well, wherever.
		for second := 1; ; second += 3 {
			next, _ := killedAt(t, kernel, disk, second, func(j *Journal) {
				if report := j.Restore(t.Context()); !report.Complete() {
					t.Errorf("killed at %s (%d): %v", at, n, report.Items)
				}
			})
			if next == nil {
				break
			}
		}
		if after := snapshot(kernel); after != before || disk.file != nil {
			t.Fatalf("killed at %s (%d): before\n%s\nafter\n%s\n%s", at, n, before, after, disk.file)
		}
	}
	for _, s := range []Step{BeforeJournal, AfterJournal, AfterWrite, AfterApply, BeforeRestore, AfterMark, AfterRestore, AfterCompanions, BeforeDrop, AfterDrop} {
		if seen[s] < 7 {
			t.Errorf("%s was passed %d times", s, seen[s])
		}
	}
}

func TestWhatSomebodyElseHasChangedIsLeftAndSaid(t *testing.T) {
	kernel := machine()
	dir := t.TempDir()
	j := opened(t, dir, kernel)
	apply(t, j, kernel, "sda", "zfs.dataset.sync=disabled", "block.queue.nomerges=2", "vm.dirty_expire_centisecs=100")
	kernel.Set("/proc/sys/vm/dirty_expire_centisecs", "777")
	kernel.ZFS("set", "sync=always", "tank/bench")
	for range 2 { // and again
		report := j.Restore(t.Context())
		if report.Complete() || report.Count(Foreign) != 2 || len(j.Entries()) != 2 {
			t.Fatalf("got %v", report.Items)
		}
		for _, want := range []string{"is 777", "somebody else", "set it to 100", "before the benchmark it was 3000"} {
			if !strings.Contains(report.First(), want) {
				t.Errorf("%q is not in %q", want, report.First())
			}
		}
	}
	if kernel.Get("/proc/sys/vm/dirty_expire_centisecs") != "777" || kernel.Get(queue+"nomerges") != "0" {
		t.Error("somebody else's value was written over, or ours was left")
	}
	_ = j.Close()
	if entries, err := Pending(dir); err != nil || len(entries) != 2 || entries[1].Foreign == nil || entries[1].Foreign.Value != "777" {
		t.Errorf("the mark: %+v, %v", entries, err)
	}
	j = opened(t, dir, kernel)
	// Who puts back the old value himself is done.
	kernel.Set("/proc/sys/vm/dirty_expire_centisecs", "3000")
	if report := j.Restore(t.Context()); report.Count(Unchanged) != 1 || report.Count(Foreign) != 1 {
		t.Errorf("got %v", report.Items)
	}
	report, err := j.Forget()
	if err != nil || report.Count(Forgotten) != 1 || !strings.Contains(report.Items[0].Message, "was standard (default)") {
		t.Errorf("forgotten: %v, %v", report.Items, err)
	}
	if _, err := j.Apply(t.Context(), owner, nil); err != nil {
		t.Errorf("the node cannot be used again: %v", err)
	}
}

func TestSomebodyElsesChangeOfWhatTheKernelChangesAlongIsKept(t *testing.T) {
	kernel := machine()
	j := opened(t, t.TempDir(), kernel)
	apply(t, j, kernel, "sda", "block.queue.scheduler=bfq")
	kernel.Set(queue+"nr_requests", "99") // which was 128, and is 256 with bfq
	report := j.Restore(t.Context())
	if !report.Complete() || !strings.Contains(report.Items[0].Message, "nr_requests of sda keeps 99, which somebody else set") {
		t.Errorf("got %v", report.Items)
	}
	if kernel.Get(queue+"nr_requests") != "99" || !strings.HasPrefix(kernel.Get(queue+"scheduler"), "[none]") {
		t.Errorf("nr_requests %s, scheduler %s", kernel.Get(queue+"nr_requests"), kernel.Get(queue+"scheduler"))
	}
}

func TestAfterABootOnlyWhatSurvivesItIsPutBack(t *testing.T) {
	kernel := machine()
	dir := t.TempDir()
	j := opened(t, dir, kernel)
	apply(t, j, kernel, "sda", append([]string{"scsi.disk.cache_type=write through"}, many[1:]...)...)
	_ = j.Close()
	kernel.Reboot(map[string]string{"sda": "sdb", "sdb": "sda"})
	kernel.Set("/sys/block/sdb/queue/nr_requests", "77") // by a rule of udev
	if kernel.DriveCache("sdb") {
		t.Fatal("the drive has forgotten")
	}
	j = opened(t, dir, kernel)
	report := j.Restore(t.Context())
	if !report.Complete() || report.Count(Restored) != 2 || report.Count(Unchanged) != 5 {
		t.Errorf("got %s: %v", report, report.Items)
	}
	if !kernel.DriveCache("sdb") || !kernel.DriveCache("sda") || kernel.Get("/sys/block/sdb/queue/nr_requests") != "77" {
		t.Error("the drive was not put back, or what the boot had set was")
	}
	is(t, kernel, "/sys/block/sdb/queue/write_cache", "write back") // or the drive's cache is on, and gets no flushes
	if got := kernel.ZFS("get", "-H", "-p", "-o", "value,source", "sync", "tank/bench"); got != "standard\tdefault" {
		t.Errorf("sync is %q", got)
	}
	for _, item := range report.Items {
		if item.Knob.Tunable == "scsi.disk.cache_type" && !strings.Contains(item.Message, "sda is now called sdb") {
			t.Errorf("got %s", item.Message)
		}
	}
}

// What the kernel derives from a drive whose cache we switched off is not the right thing for one that is on.
func TestADriveThatWasAttachedAnewGetsFlushesAgain(t *testing.T) {
	for _, withinBoot := range []func(*tunabletest.Kernel){
		func(k *tunabletest.Kernel) { k.Reattach("sda") },
		func(k *tunabletest.Kernel) { k.Set(queue+"write_cache", "write back") }, // by somebody who wonders
		func(*tunabletest.Kernel) {},
	} {
		kernel, disk := machine(), &memory{}
		j := journalOf(t, kernel.Host(), disk, "")
		apply(t, j, kernel, "sda", "scsi.disk.cache_type=write through")
		withinBoot(kernel)
		putBackBy(t, j, disk)
		is(t, kernel, queue+"write_cache", "write back")
		if !kernel.DriveCache("sda") {
			t.Error("the drive's cache is off")
		}
	}
}

func TestADiskThatIsGoneIsSaidAndAnotherOfItsNameIsLeftAlone(t *testing.T) {
	kernel := machine()
	j := opened(t, t.TempDir(), kernel)
	apply(t, j, kernel, "sda", "block.queue.scheduler=bfq", "block.queue.nomerges=2")
	kernel.Detach("sda")
	kernel.Attach("sda", "8:0", "wwid-other")
	kernel.Set(queue+"scheduler", "bfq")
	kernel.Refuse = func(name string) error { t.Errorf("%s was written", name); return nil }
	report := j.Restore(t.Context())
	if !report.Complete() || report.Count(Gone) != 2 || !strings.Contains(report.Items[0].Message, "another disk now has its name") {
		t.Errorf("got %v", report.Items)
	}
}

func TestADriveThatIsAwayKeepsItsEntry(t *testing.T) {
	kernel := machine()
	j := opened(t, t.TempDir(), kernel)
	apply(t, j, kernel, "sda", "scsi.disk.cache_type=write through")
	kernel.Detach("sda")
	if report := j.Restore(t.Context()); report.Complete() || report.Count(Failed) != 1 || !strings.Contains(report.First(), "may have kept the setting") {
		t.Errorf("got %v", report.Items)
	}
}

func TestWhatCannotBePutBackKeepsWhatWasBefore(t *testing.T) {
	kernel := machine()
	before := snapshot(kernel)
	j := opened(t, t.TempDir(), kernel)
	apply(t, j, kernel, "sda", many...)
	kernel.Refuse = func(name string) error {
		if strings.HasSuffix(name, "nr_requests") {
			return syscall.EIO
		}
		return nil
	}
	report := j.Restore(t.Context())
	// The scheduler would reset nr_requests, and lose what it has to go back to.
	if report.Count(Failed) != 3 || len(j.Entries()) != 3 || !strings.Contains(kernel.Get(queue+"scheduler"), "[bfq]") {
		t.Errorf("got %v", report.Items)
	}
	if !strings.Contains(report.First(), "input/output error") || !strings.Contains(report.Items[len(report.Items)-1].Message, "has to be restored first") {
		t.Errorf("got %v", report.Items)
	}
	kernel.Refuse = nil
	if report := j.Restore(t.Context()); !report.Complete() || snapshot(kernel) != before {
		t.Errorf("%v\n%s", report.Items, snapshot(kernel))
	}
}

func TestAFullDiskKeepsNobodyFromPuttingBack(t *testing.T) {
	kernel, disk := machine(), &memory{}
	before := snapshot(kernel)
	j, err := open(Options{Host: kernel.Host()}, disk)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, j, kernel, "sda", many...)
	disk.full = true
	report := j.Restore(t.Context())
	if snapshot(kernel) != before {
		t.Errorf("not put back:\n%s", snapshot(kernel))
	}
	if report.Complete() || disk.file == nil || !strings.Contains(report.First(), "no space left") {
		t.Errorf("got %v", report.Items)
	}
	disk.full = false
	if report := j.Restore(t.Context()); !report.Complete() || disk.file != nil || snapshot(kernel) != before {
		t.Errorf("got %v", report.Items)
	}
}

func TestATunableOfANewerVersionIsNotForgotten(t *testing.T) {
	kernel, disk := machine(), &memory{}
	e := sample()[0]
	e.Knob.Tunable, e.Companions = "block.queue.of_the_future", nil
	var err error
	if disk.file, err = encode([]Entry{e}); err != nil {
		t.Fatal(err)
	}
	j, err := open(Options{Host: kernel.Host()}, disk)
	if err != nil {
		t.Fatal(err)
	}
	if report := j.Restore(t.Context()); report.Count(Failed) != 1 || !strings.Contains(report.First(), "does not know tunable") || len(j.Entries()) != 1 {
		t.Errorf("got %v", report.Items)
	}
}

func TestAnEntryThatStaysGoesBackToWhatWasThereBeforeAll(t *testing.T) {
	kernel := machine()
	kernel.Set(queue+"nr_requests", "64")
	j := opened(t, t.TempDir(), kernel)
	// nr_requests is 256 with bfq when it is set to 100.
	apply(t, j, kernel, "sda", "block.queue.scheduler=bfq", "block.queue.nr_requests=100")
	kernel.Set(queue+"nr_requests", "99")
	report := j.Restore(t.Context())
	if report.Count(Foreign) != 1 || report.Count(Restored) != 1 || len(j.Entries()) != 1 {
		t.Fatalf("got %v", report.Items)
	}
	if old := j.Entries()[0].Old.Value; old != "64" {
		t.Errorf("what is left goes back to %s", old)
	}
	kernel.Set(queue+"nr_requests", "100")
	if report := j.Restore(t.Context()); !report.Complete() || kernel.Get(queue+"nr_requests") != "64" || !strings.HasPrefix(kernel.Get(queue+"scheduler"), "[none]") {
		t.Errorf("%v: nr_requests %s, scheduler %s", report.Items, kernel.Get(queue+"nr_requests"), kernel.Get(queue+"scheduler"))
	}
}

// deaf is a kernel that takes no more values, and says nothing.
type deaf struct {
	tunable.Host
	now *bool
}

func (d deaf) Write(ctx context.Context, k tunable.Knob, s tunable.State) error {
	if *d.now {
		return nil
	}
	return d.Host.Write(ctx, k, s)
}

func TestAnEntryLeavesTheJournalOnlyWhenItsValueWasSeen(t *testing.T) {
	kernel, disk, now := machine(), &memory{}, false
	j, err := open(Options{Host: deaf{kernel.Host(), &now}}, disk)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, j, kernel, "sda", "block.queue.nomerges=2", "vm.dirty_expire_centisecs=100")
	now = true
	report := j.Restore(t.Context())
	if report.Count(Failed) != 2 || disk.file == nil || !strings.Contains(report.First(), "was restored to 3000, but reads back as 100") {
		t.Errorf("got %v", report.Items)
	}
	now = false
	if report := j.Restore(t.Context()); !report.Complete() || report.Count(Restored) != 2 {
		t.Errorf("got %v", report.Items)
	}
}

// It stays to be restored: nobody else has changed it.
func TestWhatTheKernelMakesOfAnOldValueIsNotSomebodyElses(t *testing.T) {
	kernel, disk := machine(), &memory{}
	host := rounding{kernel.Host(), kernel, "128", "4"}
	j, err := open(Options{Host: host}, disk)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, j, kernel, "sda", "block.queue.nr_requests=64")
	for range 3 {
		if j, err = open(Options{Host: host}, disk); err != nil { // another process
			t.Fatal(err)
		}
		if report := j.Restore(t.Context()); report.Count(Failed) != 1 || !strings.Contains(report.First(), "was restored to 128, but reads back as 4") {
			t.Errorf("got %v", report.Items)
		}
	}
	kernel.Set(queue+"nr_requests", "5")
	if report := j.Restore(t.Context()); report.Count(Foreign) != 1 {
		t.Errorf("somebody else's: %v", report.Items)
	}
}

// The kernel lowers and raises it: nobody else has changed it.
func TestAQueueDepthThatTheKernelHasLoweredIsPutBack(t *testing.T) {
	const depth = "/sys/block/sda/device/queue_depth"
	for present, outcome := range map[string]Outcome{"41": Restored, "48": Restored, "1": Restored, "32": Unchanged, "49": Foreign} {
		kernel, disk := machine(), &memory{}
		j := journalOf(t, kernel.Host(), disk, "")
		apply(t, j, kernel, "sda", "block.device.queue_depth=48")
		kernel.QueueFull("sda", present)
		if report := j.Restore(t.Context()); report.Count(outcome) != 1 {
			t.Errorf("%s: %v", present, report.Items)
		}
		is(t, kernel, depth, map[bool]string{true: "49", false: "32"}[outcome == Foreign])
	}
	// Also what the kernel has made of the old value when it was written back.
	kernel, disk := machine(), &memory{}
	j := journalOf(t, kernel.Host(), disk, AfterRestore)
	apply(t, j, kernel, "sda", "block.device.queue_depth=8")
	dies(t, func() { j.Restore(t.Context()) })
	kernel.QueueFull("sda", "31")
	putBackBy(t, journalOf(t, kernel.Host(), disk, ""), disk)
	is(t, kernel, depth, "32")
	// And beside another setting, with which it is recorded, it stays as the kernel has it.
	j = journalOf(t, kernel.Host(), disk, "")
	apply(t, j, kernel, "sda", "block.queue.nomerges=2")
	kernel.QueueFull("sda", "30")
	kernel.Refuse = func(name string) error {
		if name == depth {
			t.Error("it was written")
		}
		return nil
	}
	if report := j.Restore(t.Context()); !report.Complete() || strings.Contains(report.Items[0].Message, "somebody else") {
		t.Errorf("got %v", report.Items)
	}
}

// Found by the test of properties: it was left Failed, for ever.
func TestAnOldValueThatOnlyOurSchedulerTookIsNotWaitedFor(t *testing.T) {
	for _, ours := range []string{"128", "100"} { // what no scheduler has by itself, and what it has not
		kernel := machine()
		before := snapshot(kernel)
		j := opened(t, t.TempDir(), kernel)
		apply(t, j, kernel, "sda", "block.queue.scheduler=mq-deadline", "block.queue.nr_requests="+ours)
		kernel.Set(queue+"scheduler", "none") // by a rule of udev, say
		kernel.Set(queue+"nr_requests", ours)
		report := j.Restore(t.Context())
		if after := snapshot(kernel); !report.Complete() || after != before {
			t.Errorf("%s: %v\nbefore\n%s\nafter\n%s", ours, report.Items, before, after)
		}
	}
}
