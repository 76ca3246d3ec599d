package journal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/tunable/tunabletest"
)

func machine() *tunabletest.Kernel {
	kernel := tunabletest.New()
	kernel.Attach("sda", "8:0", "wwid-a")
	kernel.Attach("sdb", "8:16", "wwid-b")
	kernel.Create("tank", "1")
	kernel.Create("tank/bench", "2")
	return kernel
}

const queue = "/sys/block/sda/queue/"

// settings of everything that the tests change.
func snapshot(kernel *tunabletest.Kernel) string {
	var out []string
	for _, name := range []string{"scheduler", "nr_requests", "read_ahead_kb", "write_cache", "max_sectors_kb", "nomerges"} {
		out = append(out, name+"="+kernel.Get(queue+name))
	}
	for _, name := range []string{"dirty_ratio", "dirty_bytes", "dirty_expire_centisecs"} {
		out = append(out, name+"="+kernel.Get("/proc/sys/vm/"+name))
	}
	out = append(out, kernel.Get("/proc/spl/kstat/zfs/arcstats"), kernel.ZFS("get", "-H", "-p", "-o", "value,source", "sync", "tank/bench"))
	return strings.Join(out, "\n")
}

func TestAValueIsInTheJournalBeforeItIsWritten(t *testing.T) {
	kernel, disk := machine(), &memory{}
	j, err := open(Options{Host: kernel.Host()}, disk)
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	kernel.Refuse = func(name string) error {
		writes++
		entries, err := decode(disk.file)
		if err != nil || !slices.ContainsFunc(entries, func(e Entry) bool {
			return strings.HasSuffix(name, e.Knob.Tunable[strings.LastIndex(e.Knob.Tunable, ".")+1:])
		}) {
			t.Errorf("%s was written with a journal of %+v, %v", name, entries, err)
		}
		return nil
	}
	apply(t, j, kernel, "sda", "block.queue.scheduler=bfq", "block.queue.nr_requests=64", "vm.dirty_expire_centisecs=100")
	if writes != 3 {
		t.Errorf("%d writes", writes)
	}
}

// A power cut would take the old value with it, and leave the new one.
func TestWhatSurvivesARebootIsNotSetIfTheJournalDoesNot(t *testing.T) {
	for setting, refused := range map[string]bool{"zfs.dataset.sync=disabled": true, "scsi.disk.cache_type=write through": true, "block.queue.nr_requests=64": false, "vm.dirty_bytes=65536": false} {
		kernel := machine()
		before := snapshot(kernel)
		j, err := open(Options{Dir: "/journal", Host: kernel.Host()}, &memory{lost: "tmpfs"})
		if err != nil {
			t.Fatal(err)
		}
		wanted := plan(t, kernel, "sda", "vm.dirty_expire_centisecs=100", setting)
		for i := range wanted {
			wanted[i].Field = "the field of " + wanted[i].Knob.Tunable
		}
		_, err = j.Apply(t.Context(), owner, wanted)
		f, isFailure := errors.AsType[*trial.Failure](err)
		switch {
		case !refused && err != nil:
			t.Errorf("%s: %v", setting, err)
		case refused && (!isFailure || f.Class != reason.TunableNotApplied || !strings.HasPrefix(setting, strings.TrimPrefix(f.Field, "the field of ")) || !strings.Contains(f.Message, "/journal is in memory (tmpfs)")):
			t.Errorf("%s: %v", setting, err)
		case refused && snapshot(kernel) != before:
			t.Errorf("%s: something was set before it was refused", setting)
		}
	}
}

func TestWhatIsAppliedIsReportedAndPutBack(t *testing.T) {
	kernel := machine()
	kernel.Set(queue+"nr_requests", "64") // which a scheduler forgets, and another one does not bring back
	kernel.Set(queue+"read_ahead_kb", "16")
	before := snapshot(kernel)
	j := opened(t, t.TempDir(), kernel)
	// Not the order of the catalogue: the user's.
	changes := apply(t, j, kernel, "sda", "vm.dirty_bytes=65536", "zfs.dataset.sync=disabled", "block.queue.scheduler=bfq", "block.queue.nr_requests=200",
		"block.queue.max_sectors_kb=512", "block.queue.write_cache=write through", "block.queue.read_ahead_kb=128", "zfs.module.zfs_arc_max=1G")
	for name, want := range map[string]string{
		"scheduler": "none mq-deadline kyber [bfq]", "nr_requests": "200", "read_ahead_kb": "128", "write_cache": "write through", "max_sectors_kb": "512",
	} {
		if got := kernel.Get(queue + name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	var lines []string
	for _, c := range changes {
		if !c.Changed {
			t.Errorf("%v was not changed", c.Knob)
		}
		lines = append(lines, c.Knob.String()+": "+c.Before.String()+" -> "+c.After.String())
	}
	want := []string{
		"vm.dirty_bytes: 0 (dirty_ratio=20) -> 65536 (dirty_ratio=0)",
		"zfs.dataset.sync of tank/bench: standard (default) -> disabled (local)",
		"block.queue.scheduler of sda: none -> bfq",
		"block.queue.nr_requests of sda: 256 -> 200",
		"block.queue.max_sectors_kb of sda: 1280 -> 512",
		`block.queue.write_cache of sda: "write back" -> "write through"`,
		"block.queue.read_ahead_kb of sda: 1024 -> 128",
		"zfs.module.zfs_arc_max: 2147483648 (0) -> 1073741824 (1073741824)",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
	report := j.Restore(t.Context())
	if !report.Complete() || report.Count(Restored) != 8 {
		t.Errorf("got %s: %v", report, report.Items)
	}
	if after := snapshot(kernel); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	if again := j.Restore(t.Context()); len(again.Items) != 0 || !again.Complete() || again.First() != "" {
		t.Errorf("again: %v", again)
	}
}

// Check refuses such an order; a kernel may know more of what undoes what.
func TestAnOrderInWhichOneUndoesAnotherIsRefusedAndLeavesNothing(t *testing.T) {
	kernel := machine()
	before := snapshot(kernel)
	j := opened(t, t.TempDir(), kernel)
	assignments := plan(t, kernel, "sda", "block.queue.scheduler=bfq", "block.queue.nr_requests=100")
	slices.Reverse(assignments)
	_, err := j.Apply(t.Context(), owner, assignments)
	if f := trial.AsFailure(err); f.Class != reason.TunableNotApplied || !strings.Contains(f.Message, "nr_requests of sda was set to 100, but was 256 after the other tunables were set") {
		t.Errorf("got %v", err)
	}
	if after := snapshot(kernel); after != before || len(j.Entries()) != 0 {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

func TestAValueThatAKnobHasAlreadyNeedsNoEntry(t *testing.T) {
	kernel := machine()
	j := opened(t, t.TempDir(), kernel)
	kernel.Refuse = func(name string) error { return errors.New(name + " was written") }
	changes := apply(t, j, kernel, "sda", "block.queue.scheduler=none", "zfs.dataset.sync=standard", "vm.dirty_ratio=20")
	if len(changes) != 3 || len(j.Entries()) != 0 {
		t.Errorf("%v, %v", changes, j.Entries())
	}
	for _, c := range changes {
		if c.Changed || c.Before != c.After || c.After.Value == "" {
			t.Errorf("got %+v", c)
		}
	}
}

func TestAFailedApplyLeavesNothingChanged(t *testing.T) {
	refuse := func(part string) func(*tunabletest.Kernel) {
		return func(k *tunabletest.Kernel) {
			k.Refuse = func(name string) error {
				if strings.Contains(name, part) {
					return syscall.EINVAL
				}
				return nil
			}
		}
	}
	for name, c := range map[string]struct {
		settings []string
		happens  func(*tunabletest.Kernel)
		field    string
		want     []string
	}{
		"a value that the kernel refuses": {
			[]string{"vm.dirty_expire_centisecs=100", "block.queue.nomerges=2"}, refuse("dirty_expire"), "tunables[0]",
			[]string{"cannot set vm.dirty_expire_centisecs to 100", "invalid argument"},
		},
		"a value that ZFS ignores": {
			[]string{"block.queue.nomerges=2", "zfs.module.zfs_arc_max=64M"}, nil, "tunables[1].value",
			[]string{"zfs.module.zfs_arc_max was set to 67108864", "was 2147483648", "did not accept"},
		},
		"a property that zfs refuses": {
			[]string{"block.queue.nomerges=2", "vm.dirty_ratio=5", "zfs.dataset.sync=disabled"}, refuse("sync"), "tunables[2]",
			[]string{"cannot set zfs.dataset.sync of tank/bench to disabled"},
		},
		"the last of many": {
			[]string{"block.queue.scheduler=bfq", "block.queue.nr_requests=64", "block.queue.read_ahead_kb=4", "vm.dirty_bytes=8192"}, refuse("dirty_bytes"), "tunables[3]",
			[]string{"cannot set vm.dirty_bytes to 8192"},
		},
	} {
		kernel := machine()
		before := snapshot(kernel)
		j := opened(t, t.TempDir(), kernel)
		assignments := plan(t, kernel, "sda", c.settings...)
		if c.happens != nil {
			c.happens(kernel)
		}
		changes, err := j.Apply(t.Context(), owner, assignments)
		f, ok := errors.AsType[*trial.Failure](err)
		if !ok || changes != nil || f.Class != reason.TunableNotApplied || f.Field != c.field || f.Remedy == "" {
			t.Errorf("%s: %v, %+v", name, changes, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(f.Message, want) {
				t.Errorf("%s: %q is not in %q", name, want, f.Message)
			}
		}
		if after := snapshot(kernel); after != before || len(j.Entries()) != 0 {
			t.Errorf("%s: before\n%s\nafter\n%s\n%v", name, before, after, j.Entries())
		}
	}
}

// rounding is a kernel that makes something else of a value.
type rounding struct {
	tunable.Host
	k    *tunabletest.Kernel
	from string
	to   string
}

func (r rounding) Write(ctx context.Context, k tunable.Knob, s tunable.State) error {
	if s.Value == r.from {
		s.Value = r.to
	}
	return r.Host.Write(ctx, k, s)
}

func TestAValueThatTheKernelRoundsIsNotTakenAndPutBack(t *testing.T) {
	kernel := machine()
	before := snapshot(kernel)
	j, err := open(Options{Host: rounding{kernel.Host(), kernel, "100", "96"}}, &memory{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Apply(t.Context(), owner, plan(t, kernel, "sda", "block.queue.nr_requests=100", "block.queue.max_sectors_kb=512"))
	if err == nil || !strings.Contains(err.Error(), "block.queue.nr_requests of sda was set to 100, but was 96 when read back") {
		t.Errorf("got %v", err)
	}
	if after := snapshot(kernel); after != before || len(j.Entries()) != 0 {
		t.Errorf("before\n%s\nafter\n%s\n%v", before, after, j.Entries())
	}
}

func TestASettingThatALaterOneUndoesIsNotTaken(t *testing.T) {
	kernel := machine()
	before := snapshot(kernel)
	written := false
	var j *Journal
	hook := func(s Step) {
		// Somebody gives the disk another scheduler when it has its nr_requests.
		if s == AfterApply && kernel.Get(queue+"nr_requests") == "100" && !written {
			written = true
			kernel.Set(queue+"nr_requests", "90")
		}
	}
	j, err := open(Options{Host: kernel.Host(), Hook: hook}, &memory{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Apply(t.Context(), owner, plan(t, kernel, "sda", "block.queue.nr_requests=100", "vm.dirty_ratio=5"))
	if err == nil || !strings.Contains(err.Error(), "was 90 after the other tunables were set") || !strings.Contains(err.Error(), "could not be restored") {
		t.Errorf("got %v", err)
	}
	kernel.Set(queue+"nr_requests", "128")
	if report := j.Restore(t.Context()); !report.Complete() || snapshot(kernel) != before {
		t.Errorf("%v\n%s", report, snapshot(kernel))
	}
}

func TestApplyStopsWhenItIsToldTo(t *testing.T) {
	kernel := machine()
	before := snapshot(kernel)
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	j, err := open(Options{Host: kernel.Host(), Hook: func(s Step) {
		if s == AfterApply {
			steps++
			cancel()
		}
	}}, &memory{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Apply(ctx, owner, plan(t, kernel, "sda", "block.queue.nr_requests=100", "vm.dirty_ratio=5"))
	if f := trial.AsFailure(err); !errors.Is(err, context.Canceled) || f.Class != reason.TunableNotApplied || steps != 1 {
		t.Errorf("%d steps, %v", steps, err)
	}
	if after := snapshot(kernel); after != before || len(j.Entries()) != 0 {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// It may have become one since the plan.
func TestAValueThatCouldNotBePutBackIsKept(t *testing.T) {
	kernel := machine()
	j := opened(t, t.TempDir(), kernel)
	assignments := plan(t, kernel, "sda", "block.queue.nr_requests=64")
	kernel.Shallow("sda", "2")
	_, err := j.Apply(t.Context(), owner, assignments)
	if f := trial.AsFailure(err); f.Class != reason.TunableNotApplied || f.Field != "tunables[0]" || !strings.Contains(f.Message, "it is 2, which could not be restored") || !strings.HasPrefix(f.Remedy, "leave it out for this disk") {
		t.Errorf("got %v", err)
	}
	if kernel.Get(queue+"nr_requests") != "2" || len(j.Entries()) != 0 {
		t.Errorf("nr_requests is %s; %v", kernel.Get(queue+"nr_requests"), j.Entries())
	}
}

func TestNothingIsWrittenWhenTheJournalCannotBe(t *testing.T) {
	kernel, disk := machine(), &memory{full: true}
	j, err := open(Options{Host: kernel.Host(), Dir: "/somewhere"}, disk)
	if err != nil {
		t.Fatal(err)
	}
	assignments := plan(t, kernel, "sda", "block.queue.nr_requests=100")
	kernel.Refuse = func(name string) error { t.Errorf("%s was written", name); return nil }
	_, err = j.Apply(t.Context(), owner, assignments)
	if f := trial.AsFailure(err); f.Class != reason.TunableNotApplied || !strings.Contains(f.Message, "/somewhere") || !strings.Contains(f.Message, "no space") {
		t.Errorf("got %v", err)
	}
}
