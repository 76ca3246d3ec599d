package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/internal/tunable"
)

// pool of values to choose from: few, so that an outsider's value is at times the
// old one or ours.
var pool = map[string][]string{
	"block.queue.scheduler": {"none", "mq-deadline", "bfq"}, "block.queue.nr_requests": {"4", "64", "128", "256"},
	"block.queue.read_ahead_kb": {"0", "128", "2560"}, "block.queue.write_cache": {"write back", "write through"},
	"block.queue.max_sectors_kb": {"512", "1280"}, "block.queue.nomerges": {"0", "2"}, "block.device.queue_depth": {"1", "32"},
	"scsi.disk.cache_type": {"write back", "write through", "temporary write through", "temporary write back"},
	"ata.write_cache":      {"on", "off"},
	"vm.dirty_ratio":       {"5", "20"}, "vm.dirty_bytes": {"8192", "1048576"}, "vm.dirty_background_ratio": {"3", "10"},
	"vm.dirty_background_bytes": {"4096", "65536"}, "vm.dirty_expire_centisecs": {"100", "3000"},
	"zfs.module.zfs_nocacheflush": {"0", "1"}, "zfs.module.zfs_arc_max": {"67108864", "1073741824", "3221225472"},
	"zfs.module.zfs_arc_min": {"67108864", "134217728", "4294967296"},
	"zfs.dataset.sync":       {"standard", "always", "disabled"}, "zfs.dataset.recordsize": {"4096", "131072"},
	// Which are for others only.
	"block.iosched.read_expire": {"100", "500"},
}

func TestNoOldValueIsEverLost(t *testing.T) {
	const wanted = 120_000
	steps, actions, done := 0, 0, map[string]int{}
	for seed := uint64(1); steps < wanted; seed++ {
		w := newWorld(t, seed)
		w.say("seed %d", seed)
		for range 400 {
			done[w.act()]++
			actions++
			w.check()
		}
		w.finish()
		steps += w.steps
	}
	t.Logf("%d steps at which a process may be killed, %d actions: %v", steps, actions, done)
	for _, name := range []string{"applied", "refused", "restored", "left foreign", "killed", "reboot", "outsider", "forgotten", "exchanged", "renamed", "file changed", "loop removed"} {
		if done[name] < 20 {
			t.Errorf("%q has happened %d times: this test does not test that", name, done[name])
		}
	}
}

// act does something at random and says what.
func (w *world) act() string {
	switch n := w.random.IntN(100); {
	case n < 35:
		return w.apply()
	case n < 70:
		return w.restore()
	case n < 85:
		w.outsider()
		return "outsider"
	case n < 90:
		w.reboot()
		return "reboot"
	case n < 93:
		w.forget()
		return "forgotten"
	case n < 96:
		w.exchange()
		return "exchanged"
	case n < 97:
		w.rename()
		return "renamed"
	case n < 99:
		return w.changeLoop()
	default:
		w.process(w.start)
		return "restart"
	}
}

// trouble lets writes fail, the disk be full, or the process be killed.
func (w *world) trouble() (some bool) {
	switch w.random.IntN(8) {
	case 0:
		at := 1 + w.random.IntN(6)
		w.kernel.Refuse = func(string) error {
			if at--; at == 0 {
				return syscall.EIO
			}
			return nil
		}
	case 1:
		w.disk.full = true
	case 2, 3, 4:
		w.kill = 1 + w.random.IntN(16)
	default:
		return false
	}
	return true
}

func (w *world) calm() { w.kernel.Refuse, w.disk.full = nil, false }

func (w *world) apply() string {
	var place tunable.Place
	place.Dataset = w.dataset()
	for _, name := range append(slices.Sorted(maps.Values(w.disks)), loopName) {
		if d, err := w.host.DeviceID(name); err == nil && w.random.IntN(2) == 0 {
			place.Devices = append(place.Devices, d)
		}
	}
	var assignments []tunable.Assignment
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(pool)), w.unused)
	for range 1 + w.random.IntN(4) {
		s := tunable.Setting{Name: names[w.random.IntN(len(names))]}
		s.Value = pool[s.Name][w.random.IntN(len(pool[s.Name]))]
		some, err := w.host.Plan(context.Background(), []tunable.Setting{s}, place)
		if err == nil {
			assignments = append(assignments, some...)
		}
	}
	empty := len(w.journal.entries) == 0
	if empty {
		w.settle()
	}
	if empty && w.random.IntN(16) == 0 {
		w.exchange() // after it was planned
	}
	w.trouble()
	defer w.calm()
	var err error
	var changes []Change
	survived := w.process(func() {
		changes, err = w.journal.Apply(context.Background(), Owner{Name: "b", Run: "r", Worker: "w"}, assignments)
	})
	w.say("apply %v: %v", assignments, err)
	switch {
	case !survived:
		return "killed"
	case err != nil:
		return "refused"
	}
	if !empty {
		w.fail("applied on top of a journal that was not empty")
	}
	for i, c := range changes {
		if s, err := w.host.Read(context.Background(), c.Knob); err != nil || !c.Knob.Same(s, c.After) {
			w.fail("change %d: %v is %v, %v; it was reported as %v", i, c.Knob, s, err, c.After)
		}
	}
	return "applied"
}

func (w *world) restore() string {
	troubled := w.trouble()
	defer w.calm()
	var report Report
	survived := w.process(func() { report = w.journal.Restore(context.Background()) })
	w.say("restore: %s %v", report, report.Items)
	if !survived {
		return "killed"
	}
	if report.Complete() != (w.disk.file == nil) {
		w.fail("complete is %v, and the journal holds %q", report.Complete(), w.disk.file)
	}
	if report.Complete() {
		w.check() // with an empty journal: everything is right
		w.settle()
		return "restored"
	}
	if !troubled && report.Count(Failed) > 0 && !w.missing {
		w.fail("nothing stood in the way: %v", report.Items)
	}
	if report.Count(Foreign) > 0 {
		if !w.foreign {
			w.fail("nobody else has changed anything: %v", report.Items)
		}
		return "left foreign"
	}
	return "left"
}

// outsider changes something, as an administrator or a daemon would.
func (w *world) outsider() {
	things := w.withSchedulers()
	var knobs []tunable.Knob
	for _, k := range things {
		if pool[k.Tunable] != nil && !ofDrive(k.Tunable) {
			knobs = append(knobs, k)
		}
	}
	slices.SortFunc(knobs, func(a, b tunable.Knob) int { return cmpString(a.String(), b.String()) })
	k := knobs[w.random.IntN(len(knobs))]
	// Rather one that we have changed.
	if entries := w.journal.entries; len(entries) > 0 && w.random.IntN(2) == 0 {
		if present, ok := things[w.thing(entries[w.random.IntN(len(entries))].Knob)]; ok && pool[present.Tunable] != nil && !ofDrive(present.Tunable) {
			k = present
		}
	}
	values := pool[k.Tunable]
	if strings.HasSuffix(k.Tunable, "_ratio") {
		values = append([]string{"0"}, values...) // which is not ours to set
	}
	value := values[w.random.IntN(len(values))]
	w.outside(func() {
		_, state, err := w.host.Prepare(context.Background(), k, value)
		if err == nil {
			err = w.host.Write(context.Background(), k, state)
		}
		w.say("outsider: %v to %s: %v", k, value, err)
	})
	if k.Tunable == "block.queue.write_cache" {
		w.viewed[w.thing(k).of] = true
	}
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// reboot boots the node, and may exchange the names of two disks.
func (w *world) reboot() {
	names := map[string]string{}
	if w.random.IntN(2) == 0 {
		names = map[string]string{"sda": "sdb", "sdb": "sda"}
	}
	w.kernel.Reboot(names)
	w.foreign = true
	for wwid, name := range w.disks {
		if names[name] != "" {
			w.disks[wwid] = names[name]
		}
	}
	// Only now are the disks known by their names.
	w.known, w.viewed = nil, map[string]bool{}
	for th, v := range w.values() {
		if w.right[th] == nil {
			w.right[th] = map[string]bool{}
		}
		if w.withSchedulers()[th].Survives() == tunable.Never || ofDrive(th.tunable) && !w.driveChanged(th.of) {
			w.right[th][v] = true
		}
		if th.tunable == "block.queue.write_cache" && w.driveChanged(th.of) {
			// What the kernel makes of the drive's cache once that is as it was: see flushed.
			w.right[th]["write back"], w.right[th]["write through"] = true, true
		}
	}
	w.say("reboot %v", names)
	w.start()
}

// driveChanged says whether we have changed the drive, and not only the kernel's view
// of it, which a boot sets right.
func (w *world) driveChanged(wwid string) bool {
	return slices.ContainsFunc(w.journal.entries, func(e Entry) bool {
		return ofDrive(e.Knob.Tunable) && e.Knob.Device.WWID == wwid && e.New.Source == ""
	})
}

func (w *world) forget() {
	w.outside(func() {
		if _, err := w.journal.Forget(); err != nil {
			w.fail("forget: %v", err)
		}
	})
	for wwid := range w.disks {
		w.viewed[wwid] = true // whoever forgets wants it so
	}
	w.say("forget")
	w.settle()
}

// exchange puts another disk in the place of one, under the same name.
func (w *world) exchange() {
	wwids := slices.Sorted(maps.Keys(w.disks))
	wwid := wwids[w.random.IntN(len(wwids))]
	name := w.disks[wwid]
	w.kernel.Detach(name)
	delete(w.disks, wwid)
	w.attach(name)
	w.missing = true
	maps.DeleteFunc(w.right, func(th thing, _ map[string]bool) bool { return th.of == wwid })
	for th, v := range w.values() {
		if w.right[th] == nil {
			w.right[th] = map[string]bool{v: true}
		}
	}
	w.say("exchanged %s", name)
}

// changeLoop detaches the loop device's file, attaches one, or removes the device.
func (w *world) changeLoop() string {
	w.known = nil
	switch w.random.IntN(4) {
	case 0:
		w.kernel.Eject(loopName)
		w.say("detached the file of %s", loopName)
	case 1:
		before, _ := w.host.DeviceID(loopName)
		w.kernel.Detach(loopName)
		w.makeLoop()
		gone := fmt.Sprintf("%s %d", loopName, before.Object)
		maps.DeleteFunc(w.right, func(th thing, _ map[string]bool) bool { return th.of == gone })
		for th, v := range w.values() {
			if w.right[th] == nil {
				w.right[th] = map[string]bool{v: true}
			}
		}
		w.say("removed %s, and made it anew", loopName)
		return "loop removed"
	default:
		w.serial++
		w.kernel.Insert(loopName, fmt.Sprintf("/file-%d", w.serial))
		w.say("attached another file to %s", loopName)
	}
	return "file changed"
}

func (w *world) rename() {
	from := w.dataset().Name
	to := map[string]string{"tank/bench": "tank/renamed", "tank/renamed": "tank/bench"}[from]
	w.kernel.Rename(from, to)
	w.known = nil
	w.say("renamed %s to %s", from, to)
}

// finish puts everything back at last: nothing may be stuck.
func (w *world) finish() {
	report := w.journal.Restore(context.Background())
	if report.Count(Failed) > 0 && !w.missing || report.Count(Foreign) > 0 && !w.foreign {
		w.fail("stuck: %v", report.Items)
	}
	w.check()
	if _, err := w.journal.Forget(); err != nil {
		w.fail("%v", err)
	}
	if entries, err := w.disk.load(); err != nil || entries != nil {
		w.fail("forgotten, and still there: %q, %v", entries, errors.Join(err))
	}
}
