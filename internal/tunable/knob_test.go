package tunable_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/tunable/tunabletest"
)

func knob(t *testing.T, h tunable.Host, name, device string) tunable.Knob {
	t.Helper()
	k := tunable.Knob{Tunable: name}
	if device != "" {
		d, err := h.DeviceID(device)
		if err != nil {
			t.Fatal(err)
		}
		k.Device = &d
	}
	return k
}

func read(t *testing.T, h tunable.Host, k tunable.Knob) tunable.State {
	t.Helper()
	s, err := h.Read(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// set writes a value and returns the state before, as it would be journalled.
func set(t *testing.T, h tunable.Host, k tunable.Knob, value string) (old tunable.State) {
	t.Helper()
	old, wanted, err := h.Prepare(t.Context(), k, value)
	if err == nil {
		err = h.Write(t.Context(), k, wanted)
	}
	if err != nil {
		t.Fatal(err)
	}
	if seen := read(t, h, k); !k.Same(seen, wanted) {
		t.Fatalf("%v was set to %v and is %v", k, wanted, seen)
	}
	return old
}

func restore(t *testing.T, h tunable.Host, k tunable.Knob, old tunable.State) {
	t.Helper()
	if err := h.Write(t.Context(), k, old); err != nil {
		t.Fatal(err)
	}
	if seen := read(t, h, k); !k.Same(seen, old) {
		t.Fatalf("%v was to be %v again and is %v", k, old, seen)
	}
}

func TestASchedulerIsTheOneInBrackets(t *testing.T) {
	kernel := tunabletest.New()
	kernel.Attach("sda", "8:0", "a")
	h := kernel.Host()
	k := knob(t, h, "block.queue.scheduler", "sda")
	old := set(t, h, k, "kyber")
	if old.Value != "none" || kernel.Get("/sys/block/sda/queue/scheduler") != "none mq-deadline [kyber] bfq" {
		t.Errorf("old %v, file %q", old, kernel.Get("/sys/block/sda/queue/scheduler"))
	}
	restore(t, h, k, old)
}

func TestFilesOfSysfsAreReadAsTheKernelPrintsThem(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sys/block/sda")
	if err := os.MkdirAll(filepath.Join(dir, "queue"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("dev", "8:0\n")
	h := tunable.Host{Files: tunable.Tree(root)}
	k := knob(t, h, "block.queue.scheduler", "sda")
	for text, want := range map[string]string{
		"[none] mq-deadline \n": "none", "none [mq-deadline] kyber bfq\n": "mq-deadline", "none\n": "none", "[none]\n": "none",
		"\n": "", "none mq-deadline\n": "", "none [mq": "",
	} {
		write("queue/scheduler", text)
		s, err := h.Read(t.Context(), k)
		if s.Value != want || (err == nil) != (want != "") {
			t.Errorf("%q: %v, %v; want %q", text, s, err, want)
		}
	}
	write("queue/write_cache", "write back\n")
	k.Tunable = "block.queue.write_cache"
	old := set(t, h, k, "write through")
	if b, err := os.ReadFile(filepath.Join(dir, "queue/write_cache")); err != nil || string(b) != "write through" {
		t.Errorf("%q, %v", b, err)
	}
	restore(t, h, k, old)
	// A file that is not there is not made.
	k.Tunable = "block.queue.nomerges"
	if err := h.Write(t.Context(), k, tunable.State{Value: "1"}); !errors.Is(err, tunable.ErrAbsent) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "queue/nomerges")); err == nil {
		t.Error("a file was made")
	}
	if _, err := h.Read(t.Context(), k); !errors.Is(err, tunable.ErrAbsent) || !strings.Contains(err.Error(), "block.queue.nomerges of sda") {
		t.Errorf("got %v", err)
	}
}

func TestTheARCIsReadAsItIsAndNotAsItWasAsked(t *testing.T) {
	kernel := tunabletest.New()
	h := kernel.Host()
	k := tunable.Knob{Tunable: "zfs.module.zfs_arc_max"}
	old := set(t, h, k, "1073741824")
	if old != (tunable.State{Value: "2147483648", Source: "0"}) {
		t.Errorf("old: %+v", old)
	}
	// The size and the parameter are as before, which a 0 alone does not bring about.
	restore(t, h, k, old)
	if seen := read(t, h, k); seen != old {
		t.Errorf("restored to %v", seen)
	}
	// One that ZFS ignores shows.
	_, wanted, err := h.Prepare(t.Context(), k, "67108864")
	if err == nil {
		err = h.Write(t.Context(), k, wanted)
	}
	if seen := read(t, h, k); err != nil || k.Same(seen, wanted) || seen.Value != old.Value {
		t.Errorf("below the minimum: %v, %v", seen, err)
	} else if !k.Residue(seen, old, wanted) {
		t.Errorf("%v is taken for %v: what was ignored stays in the parameter", seen, old)
	}
	restore(t, h, k, old)
	if got := kernel.Get("/sys/module/zfs/parameters/zfs_arc_max"); got != "0" {
		t.Errorf("a parameter whose value was ignored is %s, and was 0", got)
	}
	kernel.Set("/sys/module/zfs/parameters/zfs_arc_max", "1073741824")
	old = set(t, h, k, "3221225472")
	restore(t, h, k, old)
	if got := kernel.Get("/sys/module/zfs/parameters/zfs_arc_max"); got != "1073741824" {
		t.Errorf("a parameter that was set is %s again", got)
	}
}

func TestOfAPairTheOneInEffectIsPutBack(t *testing.T) {
	for name, c := range map[string]struct{ ratio, bytes, tunable, value string }{
		"bytes over a ratio":          {"20", "0", "vm.dirty_bytes", "8192"},
		"a ratio over bytes":          {"0", "65536", "vm.dirty_ratio", "5"},
		"a ratio over a ratio":        {"20", "0", "vm.dirty_ratio", "5"},
		"bytes over bytes":            {"0", "65536", "vm.dirty_bytes", "8192"},
		"bytes over neither":          {"0", "0", "vm.dirty_bytes", "8192"},
		"a ratio over neither":        {"0", "0", "vm.dirty_ratio", "5"},
		"background bytes over ratio": {"10", "0", "vm.dirty_background_bytes", "4096"},
	} {
		kernel := tunabletest.New()
		h := kernel.Host()
		stem := "/proc/sys/vm/" + strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(c.tunable, "vm."), "ratio"), "bytes")
		if c.bytes != "0" {
			kernel.Set(stem+"bytes", c.bytes)
		} else {
			kernel.Set(stem+"ratio", c.ratio)
		}
		k := tunable.Knob{Tunable: c.tunable}
		old := set(t, h, k, c.value)
		restore(t, h, k, old)
		if ratio, bytes := kernel.Get(stem+"ratio"), kernel.Get(stem+"bytes"); ratio != c.ratio || bytes != c.bytes {
			t.Errorf("%s: ratio %s, bytes %s", name, ratio, bytes)
		}
	}
}

func TestAnInheritedPropertyIsInheritedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		before func(k *tunabletest.Kernel)
		source string
	}{
		"the default":     {func(*tunabletest.Kernel) {}, "default"},
		"the parent's":    {func(k *tunabletest.Kernel) { k.ZFS("set", "sync=always", "tank") }, "inherited from tank"},
		"its own":         {func(k *tunabletest.Kernel) { k.ZFS("set", "sync=always", "tank/bench") }, "local"},
		"a received one":  {func(k *tunabletest.Kernel) { k.Receive("tank/bench", "sync", "always") }, "received"},
		"its own default": {func(k *tunabletest.Kernel) { k.ZFS("set", "sync=standard", "tank/bench") }, "local"},
	} {
		kernel := tunabletest.New()
		kernel.Create("tank", "1")
		kernel.Create("tank/bench", "2")
		c.before(kernel)
		h := kernel.Host()
		k := tunable.Knob{Tunable: "zfs.dataset.sync", Dataset: &tunable.DatasetID{Name: "tank/bench", GUID: "2", PoolGUID: tunabletest.PoolGUID}}
		before := read(t, h, k)
		old := set(t, h, k, "disabled")
		restore(t, h, k, old)
		if after := read(t, h, k); old.Source != c.source || after != before {
			t.Errorf("%s: %v, then %v", name, before, after)
		}
		// A value that it has already is not set, which would make it its own.
		if old, wanted, err := h.Prepare(t.Context(), k, before.Value); err != nil || !k.Same(old, wanted) || wanted != before {
			t.Errorf("%s: to set what it has: %v, %v", name, wanted, err)
		}
		kernel.Destroy("tank/bench")
		kernel.Create("tank/bench", "3")
		if err := h.Write(t.Context(), k, old); err == nil || !strings.Contains(err.Error(), "another dataset now has its name") {
			t.Errorf("%s: another dataset: %v", name, err)
		}
	}
}

func TestAPropertyThatAMountOptionSetsIsRefused(t *testing.T) {
	h := tunable.Host{Run: func(_ context.Context, argv []string) (string, error) {
		if slices.Contains(argv, "guid") {
			return "2\n", nil
		}
		return "off\ttemporary\n", nil
	}}
	k := tunable.Knob{Tunable: "zfs.dataset.atime", Dataset: &tunable.DatasetID{Name: "tank", GUID: "2"}}
	if _, _, err := h.Prepare(t.Context(), k, "on"); err == nil || !strings.Contains(err.Error(), "temporary") {
		t.Errorf("got %v", err)
	}
}

func TestTheKernelsViewOfACacheIsPutBackWithoutTheDrive(t *testing.T) {
	kernel := tunabletest.New()
	kernel.Attach("sda", "8:0", "a")
	kernel.Attach("nvme0n1", "259:0", "b")
	h := kernel.Host()
	k := knob(t, h, "scsi.disk.cache_type", "sda")
	old := set(t, h, k, "temporary write through")
	if !kernel.DriveCache("sda") {
		t.Error("temporary has changed the drive")
	}
	restore(t, h, k, old)
	old = set(t, h, k, "write through")
	if kernel.DriveCache("sda") {
		t.Error("the drive was not changed")
	}
	restore(t, h, k, old)
	if !kernel.DriveCache("sda") || kernel.Get("/sys/block/sda/queue/write_cache") != "write back" {
		t.Error("the drive was not put back")
	}
	if _, err := h.Read(t.Context(), knob(t, h, "scsi.disk.cache_type", "nvme0n1")); !errors.Is(err, tunable.ErrAbsent) {
		t.Errorf("an NVMe disk: %v", err)
	}
}

func TestDriveCachesByTheirPrograms(t *testing.T) {
	kernel := tunabletest.New()
	kernel.Attach("sda", "8:0", "a")
	kernel.Attach("nvme0n1", "259:0", "b")
	var ran [][]string
	answer, fails := "", error(nil)
	h := kernel.Host()
	h.Prefix = tunable.InHostMounts()
	h.Run = func(_ context.Context, argv []string) (string, error) {
		ran = append(ran, argv)
		return answer, fails
	}
	ata, nvme := knob(t, h, "ata.write_cache", "sda"), knob(t, h, "nvme.volatile_write_cache", "nvme0n1")
	for _, c := range []struct {
		knob   tunable.Knob
		answer string
		want   string // empty: an error
		absent bool
	}{
		{ata, "\n/dev/sda:\n write-caching =  1 (on)\n", "on", false},
		{ata, "\n/dev/sda:\n write-caching =  0 (off)\n", "off", false},
		{ata, "\n/dev/sda:\n write-caching = not supported\n", "", true},
		{nvme, "get-feature:6 (Volatile Write Cache), Current value:00000001\n", "on", false},
		{nvme, "get-feature:0x06 (Volatile Write Cache), Current value:0x00000000\n", "off", false},
		{nvme, "get-feature:0x6 (Volatile Write Cache), current value:0x1\n", "on", false},
		{nvme, "something else\n", "", false},
		{knob(t, h, "ata.write_cache", "nvme0n1"), "", "", true},
		{knob(t, h, "nvme.volatile_write_cache", "sda"), "", "", true},
	} {
		answer = c.answer
		s, err := h.Read(t.Context(), c.knob)
		if s.Value != c.want || (err == nil) != (c.want != "") || errors.Is(err, tunable.ErrAbsent) != c.absent {
			t.Errorf("%v %q: %v, %v", c.knob, c.answer, s, err)
		}
	}
	ran = nil
	if err := errors.Join(h.Write(t.Context(), ata, tunable.State{Value: "off"}), h.Write(t.Context(), nvme, tunable.State{Value: "on"})); err != nil {
		t.Fatal(err)
	}
	got := []string{strings.Join(ran[0], " "), strings.Join(ran[1], " ")}
	if got[0] != "nsenter -t 1 -m -- hdparm -W0 /dev/sda" || got[1] != "nsenter -t 1 -m -- nvme set-feature /dev/nvme0n1 --feature-id=6 --value=1" {
		t.Errorf("ran %q", got)
	}
	if err := h.Write(t.Context(), ata, tunable.State{Value: "maybe"}); err == nil {
		t.Error("a value that is none was written")
	}
	fails = errors.New("nvme: INVALID_FIELD: a reserved coded value")
	if _, err := h.Read(t.Context(), nvme); !errors.Is(err, tunable.ErrAbsent) {
		t.Errorf("a disk without a volatile cache: %v", err)
	}
}

func TestNamesThatArePathsReachNothing(t *testing.T) {
	kernel := tunabletest.New()
	h := kernel.Host()
	for _, k := range []tunable.Knob{
		{Tunable: "block.queue.scheduler"},
		{Tunable: "block.queue.scheduler", Device: &tunable.DeviceID{Name: "../../etc"}},
		{Tunable: "block.queue.scheduler", Device: &tunable.DeviceID{Name: ".."}},
		{Tunable: "block.queue.scheduler", Device: &tunable.DeviceID{Name: "-x"}},
		{Tunable: "zfs.dataset.sync"},
		{Tunable: "zfs.dataset.sync", Dataset: &tunable.DatasetID{Name: "-r"}},
		{Tunable: "zfs.dataset.sync", Dataset: &tunable.DatasetID{Name: "tank/../x;"}},
		{Tunable: "unheard.of"},
	} {
		if _, err := h.Read(t.Context(), k); err == nil || errors.Is(err, tunable.ErrAbsent) {
			t.Errorf("%+v was read: %v", k, err)
		}
		if err := h.Write(t.Context(), k, tunable.State{Value: "x"}); err == nil {
			t.Errorf("%+v was written", k)
		}
		if _, err := h.Locate(t.Context(), k, true); err == nil {
			t.Errorf("%+v was located", k)
		}
	}
}

func TestPlanRefusesToChangeWhatTheKernelWouldNotTakeBack(t *testing.T) {
	kernel := tunabletest.New()
	kernel.Attach("sda", "8:0", "a")
	kernel.Shallow("sda", "2")
	h := kernel.Host()
	place := tunable.Place{Path: "/x", Devices: []tunable.DeviceID{*knob(t, h, "x", "sda").Device}}
	settings := []tunable.Setting{{Name: "block.queue.nr_requests", Value: "64"}}
	_, err := h.Plan(t.Context(), settings, place)
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != reason.InvalidSpec || f.Field != "tunables[0]" || f.Remedy != "leave it out for this disk, or set it to at least 4 before the benchmark" ||
		f.Message != "block.queue.nr_requests of sda: it is 2, which could not be restored: the kernel raises anything below 4 to that" {
		t.Errorf("got %v", err)
	}
	kernel.Shallow("sda", "4")
	if _, err := h.Plan(t.Context(), settings, place); err != nil {
		t.Error(err)
	}
}

func TestPlanMakesAnAssignmentForEachDiskInTheUsersOrder(t *testing.T) {
	kernel := tunabletest.New()
	kernel.Attach("sda", "8:0", "a")
	kernel.Attach("nvme0n1", "259:0", "")
	h := kernel.Host()
	sda, nvme := knob(t, h, "x", "sda").Device, knob(t, h, "x", "nvme0n1").Device
	both := tunable.Place{Path: "/x", Devices: []tunable.DeviceID{*sda, *nvme}}
	got, err := h.Plan(t.Context(), []tunable.Setting{{Name: "vm.dirty_bytes", Value: "1M"}, {Name: "block.queue.write_cache", Value: "write back"}, {Name: "block.queue.read_ahead_kb", Value: "128"}}, both)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, a := range got {
		lines = append(lines, a.Field+" "+a.Knob.String()+" "+a.Value)
	}
	want := []string{
		"tunables[0] vm.dirty_bytes 1048576",
		"tunables[1] block.queue.write_cache of sda write back", "tunables[1] block.queue.write_cache of nvme0n1 write back",
		"tunables[2] block.queue.read_ahead_kb of sda 128", "tunables[2] block.queue.read_ahead_kb of nvme0n1 128",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q", lines)
	}
	only := func(d *tunable.DeviceID) tunable.Place {
		return tunable.Place{Path: "/x", Devices: []tunable.DeviceID{*d}, DeviceNote: "note"}
	}
	for name, c := range map[string]struct {
		setting tunable.Setting
		place   tunable.Place
		want    string
	}{
		"what a disk has not":        {tunable.Setting{Name: "block.device.queue_depth", Value: "1"}, only(nvme), "block.device.queue_depth of nvme0n1"},
		"a target without disks":     {tunable.Setting{Name: "block.queue.nomerges", Value: "1"}, tunable.Place{Path: "/x", DeviceNote: "tmpfs is in memory"}, "tmpfs is in memory"},
		"a target that is not ZFS":   {tunable.Setting{Name: "zfs.dataset.sync", Value: "always"}, only(sda), "not on ZFS"},
		"a disk that is not known":   {tunable.Setting{Name: "nvme.volatile_write_cache", Value: "off"}, only(nvme), "no serial number"},
		"a program that is not here": {tunable.Setting{Name: "ata.write_cache", Value: "off"}, only(sda), "hdparm is not installed"},
		"an unknown name":            {tunable.Setting{Name: "x", Value: "off"}, only(sda), "tunables[0].name"},
	} {
		_, err := h.Plan(t.Context(), []tunable.Setting{c.setting}, c.place)
		f, ok := errors.AsType[*trial.Failure](err)
		if !ok || f.Class != reason.InvalidSpec || !strings.HasPrefix(f.Field, "tunables[0]") || !strings.Contains(f.Error(), c.want) || f.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	kernel.Unload()
	if _, err := h.Plan(t.Context(), []tunable.Setting{{Name: "zfs.module.zfs_nocacheflush", Value: "1"}}, tunable.Place{}); err == nil {
		t.Error("a parameter of a module that is not loaded")
	}
	kernel.Refuse = func(string) error { return syscall.EPERM }
	if err := h.Write(t.Context(), knob(t, h, "block.queue.nomerges", "sda"), tunable.State{Value: "1"}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
	}
}
