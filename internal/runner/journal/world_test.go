package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/tunable/tunabletest"
)

// memory is a disk that holds a journal. Replacing is atomic, as rename is.
type memory struct {
	file []byte
	full bool
	// lost is what the file system is if a reboot loses it.
	lost string
}

func (m *memory) load() ([]byte, error)    { return m.file, nil }
func (m *memory) forgets() (string, error) { return m.lost, nil }
func (m *memory) close() error             { return nil }
func (m *memory) replace(b []byte) error {
	if m.full && b != nil {
		return errors.New("no space left on device")
	}
	m.file = b
	return nil
}

// killed is what a process that is killed at a step panics with.
type killed struct{ at Step }

// world is a node on which anything may happen, and what is known to be right there.
type world struct {
	t       *testing.T
	random  *rand.Rand
	kernel  *tunabletest.Kernel
	host    tunable.Host
	disk    *memory
	journal *Journal
	// disks are the names of the disks by WWID; serial numbers them.
	disks  map[string]string
	serial int
	// known are the knobs of all things, until names change.
	known map[thing]tunable.Knob
	// right holds, of each thing that has a value, the values that it may have when
	// nothing of a benchmark is left: the one that it had when the journal was empty,
	// and those that others have set since.
	right map[thing]map[string]bool
	// foreign: somebody else has changed something since the journal was empty.
	// missing: a disk was taken away.
	foreign, missing bool
	// viewed are the disks, by WWID, whose write_cache somebody else has set since the boot.
	viewed map[string]bool
	// hdparm: drives\' caches are switched by it, and not by cache_type. Both are one bit.
	hdparm      bool
	steps, kill int
	log         []string
}

// thing is a knob under a name that does not change.
type thing struct{ tunable, of string }

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 7)), kernel: tunabletest.New(), disk: &memory{},
		disks: map[string]string{}, right: map[thing]map[string]bool{}, viewed: map[string]bool{},
	}
	if w.hdparm = seed%2 == 0; w.hdparm {
		w.kernel.InstallHdparm()
	}
	w.host = w.kernel.Host()
	for _, name := range []string{"sda", "sdb", "nvme0n1"} {
		w.attach(name)
	}
	w.makeLoop()
	w.kernel.Create("tank", "1")
	w.kernel.Create("tank/bench", "2")
	w.start()
	w.settle()
	return w
}

func (w *world) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
	if len(w.log) > 40 {
		w.log = w.log[1:]
	}
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\nbefore that:\n  %s", fmt.Sprintf(format, args...), strings.Join(w.log, "\n  "))
}

func (w *world) attach(name string) {
	w.serial++
	wwid := fmt.Sprintf("wwid-%d", w.serial)
	w.kernel.Attach(name, map[string]string{"sda": "8:0", "sdb": "8:16", "nvme0n1": "259:0"}[name], wwid)
	w.disks[wwid], w.known = name, nil
}

// loopName is a loop device, which files come to and go from.
const loopName = "loop0"

// makeLoop makes the loop device anew: the kernel forgets what it was set to.
func (w *world) makeLoop() {
	w.serial++
	w.kernel.Loop(loopName, "7:0", fmt.Sprintf("/file-%d", w.serial))
	w.known = nil
}

// quick does not look at what settles again and again, which takes most of the time here.
type quick struct {
	tunable.Host
	kernel *tunabletest.Kernel
}

func (q quick) Settle(ctx context.Context, _ tunable.Knob) error {
	q.kernel.Advance(time.Minute)
	return ctx.Err()
}

// start starts a process, which opens the journal.
func (w *world) start() {
	j, err := open(Options{Dir: "/journal", Host: quick{w.host, w.kernel}, Hook: w.step}, w.disk)
	if err != nil {
		w.fail("open: %v", err)
	}
	w.journal = j
}

func ofDrive(name string) bool {
	return name == "scsi.disk.cache_type" || name == "ata.write_cache"
}

// unused says whether drives' caches are not switched by this setting here.
func (w *world) unused(name string) bool {
	return ofDrive(name) && (name == "ata.write_cache") != w.hdparm
}

// step kills the process when its time has come.
func (w *world) step(at Step) {
	w.steps++
	if w.kill > 0 {
		if w.kill--; w.kill == 0 {
			panic(killed{at})
		}
	}
}

// process runs something that may be killed, and starts another process then.
func (w *world) process(f func()) (survived bool) {
	defer func() {
		w.kill = 0
		switch r := recover().(type) {
		case nil:
		case killed:
			w.say("killed at %s", r.at)
			w.start()
		default:
			panic(r)
		}
	}()
	f()
	return true
}

// things are all values that there are, of which those of a pair are one.
func (w *world) things() map[thing]tunable.Knob {
	if w.known != nil {
		return w.known
	}
	out := map[thing]tunable.Knob{}
	for _, t := range tunable.Catalogue() {
		var places []tunable.Place
		switch t.Scope {
		case tunable.Node:
			places = []tunable.Place{{}}
		case tunable.Dataset:
			places = []tunable.Place{{Dataset: w.dataset()}}
		case tunable.Device:
			for _, name := range append(slices.Sorted(maps.Values(w.disks)), loopName) {
				d, err := w.host.DeviceID(name)
				if err != nil {
					w.fail("%v", err)
				}
				places = append(places, tunable.Place{Devices: []tunable.DeviceID{d}})
			}
		}
		for _, p := range places {
			for _, k := range t.Knobs(p) {
				if _, err := w.host.Read(context.Background(), k); err == nil {
					out[w.thing(k)] = k
				}
			}
		}
	}
	w.known = out
	return out
}

// withSchedulers adds to things what the disks' schedulers have of their own, which come and go with them.
func (w *world) withSchedulers() map[thing]tunable.Knob {
	out := maps.Clone(w.things())
	for _, name := range append(slices.Sorted(maps.Values(w.disks)), loopName) {
		d, err := w.host.DeviceID(name)
		if err != nil {
			w.fail("%v", err)
		}
		for _, k := range w.host.Companions(tunable.Knob{Tunable: "block.queue.scheduler", Device: &d}) {
			if k.OfScheduler() {
				out[w.thing(k)] = k
			}
		}
	}
	return out
}

func (w *world) dataset() *tunable.DatasetID {
	for _, name := range []string{"tank/bench", "tank/renamed"} {
		if out, err := w.host.Run(context.Background(), []string{"zfs", "get", "-H", "-p", "-o", "value", "guid", name}); err == nil {
			return &tunable.DatasetID{Name: name, GUID: strings.TrimSpace(out), PoolGUID: tunabletest.PoolGUID}
		}
	}
	w.fail("no dataset")
	return nil
}

func (w *world) thing(k tunable.Knob) thing {
	name := strings.TrimSuffix(strings.TrimSuffix(k.Tunable, "_bytes"), "_ratio")
	switch {
	case k.Device != nil && k.Device.WWID == "":
		// The kernel's object, until it is removed or the node boots.
		return thing{name, fmt.Sprintf("%s %d", k.Device.Name, k.Device.Object)}
	case k.Device != nil:
		return thing{name, k.Device.WWID}
	case k.Dataset != nil:
		return thing{name, k.Dataset.GUID}
	default:
		return thing{name, ""}
	}
}

// canonical is a state in a form that is the same for both settings of a pair, and
// without what does not matter.
func canonical(k tunable.Knob, s tunable.State) string {
	switch {
	case strings.HasPrefix(k.Tunable, "vm.dirty") && s.Source != "":
		leaf := strings.TrimPrefix(k.Tunable, "vm.")
		both := []string{leaf + "=" + s.Value, s.Source}
		slices.Sort(both)
		return strings.Join(both, " ")
	case k.Dataset != nil:
		return s.String()
	default:
		return s.Value
	}
}

func (w *world) values() map[thing]string {
	out := map[thing]string{}
	for th, k := range w.withSchedulers() {
		if w.unused(k.Tunable) || strings.HasSuffix(k.Tunable, ".async_depth") {
			continue // the drive's cache counts once; the kernel derives it from the number of requests; see TestWhatASchedulerHasOfItsOwnIsPutBack
		}
		s, err := w.host.Read(context.Background(), k)
		if err != nil {
			w.fail("%v", err)
		}
		out[th] = canonical(k, s)
	}
	return out
}

// settle takes what there is for right. It is called when the journal is empty.
func (w *world) settle() {
	w.right, w.foreign, w.missing = map[thing]map[string]bool{}, false, false
	for th, v := range w.values() {
		w.right[th] = map[string]bool{v: true}
	}
}

// outside lets somebody else do something: what changes thereby is right too.
func (w *world) outside(f func()) {
	w.kernel.Advance(time.Minute) // it does nothing that the kernel undoes by itself
	before := w.values()
	f()
	for th, v := range w.values() {
		if before[th] == v {
			continue
		}
		w.foreign = true
		if w.right[th] == nil {
			w.right[th] = map[string]bool{}
		}
		w.right[th][v] = true
	}
}

// flushed is the promise when the journal is empty: a drive whose cache is on gets flushes, unless somebody
// else did not want it so.
func (w *world) flushed() {
	w.t.Helper()
	for wwid, name := range w.disks {
		if w.kernel.DriveCache(name) && !w.viewed[wwid] && w.kernel.Get("/sys/block/"+name+"/queue/write_cache") == "write through" {
			w.fail("the cache of %s is on, and the kernel sends it no flushes", name)
		}
	}
}

// check is the promise: what is not right stands in the journal with what is.
func (w *world) check() {
	w.t.Helper()
	if w.disk.file == nil {
		w.flushed()
	}
	held := map[thing][]string{}
	if w.disk.file != nil {
		entries, err := decode(w.disk.file)
		if err != nil {
			w.fail("the journal: %v", err)
		}
		for _, e := range entries {
			th := w.thing(e.Knob)
			held[th] = append(held[th], canonical(e.Knob, e.Old))
			for _, c := range e.Companions {
				th := w.thing(c.knob(e.Knob))
				held[th] = append(held[th], canonical(c.knob(e.Knob), c.Old))
			}
		}
	}
	for th, v := range w.values() {
		if w.right[th][v] || w.right[th] == nil && strings.HasPrefix(th.tunable, "block.iosched.") {
			continue // right, or of a scheduler that was not there
		}
		if !slices.ContainsFunc(held[th], func(old string) bool { return w.right[th][old] }) {
			w.fail("%v is %s; right were %v, and the journal holds %v", th, v, slices.Sorted(maps.Keys(w.right[th])), held[th])
		}
	}
}
