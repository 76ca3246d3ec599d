//go:build system

package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
)

// helper is what the test binary is told to do in place of testing.
type helper struct {
	Dir    string
	Target string
	// Settings to apply; nil: restore.
	Settings []tunable.Setting
	// KillAt is the step, and Nth which of its kind, at which it kills itself.
	KillAt Step
	Nth    int
}

const asHelper = "STORAGEBENCH_TEST_JOURNAL"

func TestMain(m *testing.M) {
	text := os.Getenv(asHelper)
	if text == "" {
		os.Exit(m.Run())
	}
	var h helper
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		panic(err)
	}
	if err := h.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (h helper) run() error {
	ctx := context.Background()
	j, err := Open(Options{Dir: h.Dir, Host: tunable.Host{}, Hook: func(s Step) {
		if s != h.KillAt {
			return
		}
		if h.Nth--; h.Nth == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	if err != nil {
		return err
	}
	if h.Settings == nil {
		return json.NewEncoder(os.Stdout).Encode(j.Restore(ctx))
	}
	place, err := tunable.Host{}.Place(ctx, h.Target)
	if err != nil {
		return err
	}
	assignments, err := tunable.Host{}.Plan(ctx, h.Settings, place)
	if err != nil {
		return err
	}
	changes, err := j.Apply(ctx, owner, assignments)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(changes)
}

// do runs a helper to its end, whatever that is.
func do(t *testing.T, h helper) (stdout string, killed bool) {
	t.Helper()
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asHelper+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	exit, exited := errors.AsType[*exec.ExitError](err)
	if exited {
		status, ok := exit.Sys().(syscall.WaitStatus)
		if killed = ok && status.Signal() == syscall.SIGKILL; killed {
			return string(out), true
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), false
}

func restoreInAnotherProcess(t *testing.T, dir string) Report {
	t.Helper()
	out, _ := do(t, helper{Dir: dir})
	var report Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return report
}

// settings of a disk's queue that a benchmark may change.
func queueOf(t *testing.T, disk string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"scheduler", "nr_requests", "read_ahead_kb", "write_cache", "max_sectors_kb", "nomerges", "rq_affinity", "wbt_lat_usec"} {
		b, err := os.ReadFile(filepath.Join("/sys/block", disk, "queue", name))
		if err == nil {
			out[name] = strings.TrimSpace(string(b))
		}
	}
	own, _ := filepath.Glob(filepath.Join("/sys/block", disk, "queue/iosched/*"))
	for _, name := range own {
		if b, err := os.ReadFile(name); err == nil {
			out["iosched/"+filepath.Base(name)] = strings.TrimSpace(string(b))
		}
	}
	return out
}

func write(t *testing.T, disk, name, value string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join("/sys/block", disk, "queue", name), []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

// loop is a loop device of our own, with a queue that no kernel would give it.
func loop(t *testing.T) (device, disk string) {
	t.Helper()
	device = devicetest.Loop(t, 64<<20)
	disk = filepath.Base(device)
	// Loop devices outlast their files, and are used again.
	before := queueOf(t, disk)
	t.Cleanup(func() {
		for _, name := range []string{"write_cache", "max_sectors_kb", "scheduler", "nr_requests", "wbt_lat_usec", "nomerges", "rq_affinity", "read_ahead_kb"} {
			value := before[name]
			if _, rest, ok := strings.Cut(value, "["); ok {
				value, _, _ = strings.Cut(rest, "]")
			}
			if value != "" {
				write(t, disk, name, value)
			}
		}
	})
	write(t, disk, "scheduler", "none")
	write(t, disk, "nr_requests", "77")
	write(t, disk, "read_ahead_kb", "36")
	return device, disk
}

var asked = []tunable.Setting{
	{Name: "block.queue.write_cache", Value: "write through"}, {Name: "block.queue.scheduler", Value: "mq-deadline"},
	{Name: "block.queue.nr_requests", Value: "99"}, {Name: "block.queue.read_ahead_kb", Value: "64"},
}

func TestSettingsOfARealDiskSurviveAKillAtAnyStep(t *testing.T) {
	device, disk := loop(t)
	before := queueOf(t, disk)
	for _, step := range []Step{BeforeJournal, AfterJournal, AfterWrite, AfterApply} {
		for nth := 1; nth <= len(asked); nth++ {
			dir := filepath.Join(t.TempDir(), "journal")
			if _, killed := do(t, helper{Dir: dir, Target: device, Settings: asked, KillAt: step, Nth: nth}); !killed {
				t.Fatalf("%s %d: it was not killed", step, nth)
			}
			if step == AfterApply && queueOf(t, disk)["write_cache"] != "write through" {
				t.Errorf("%s %d: nothing was applied", step, nth)
			}
			// The one that restores is killed too, in the middle of the first.
			if _, killed := do(t, helper{Dir: dir, KillAt: AfterRestore, Nth: 1}); !killed && step == AfterApply {
				t.Errorf("%s %d: nothing was to be restored", step, nth)
			}
			if report := restoreInAnotherProcess(t, dir); !report.Complete() {
				t.Errorf("%s %d: %v", step, nth, report.Items)
			}
			if after := queueOf(t, disk); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Fatalf("%s %d: before %v, after %v", step, nth, before, after)
			}
			if entries, err := Pending(dir); err != nil || len(entries) != 0 {
				t.Errorf("%s %d: left in the journal: %v, %v", step, nth, entries, err)
			}
		}
	}
}

func TestWhatIsAppliedToARealDiskIsInEffect(t *testing.T) {
	device, disk := loop(t)
	before := queueOf(t, disk)
	dir := filepath.Join(t.TempDir(), "journal")
	out, _ := do(t, helper{Dir: dir, Target: device, Settings: asked})
	var changes []Change
	if err := json.Unmarshal([]byte(out), &changes); err != nil || len(changes) != 4 {
		t.Fatalf("%v: %s", err, out)
	}
	during := queueOf(t, disk)
	if during["write_cache"] != "write through" || !strings.Contains(during["scheduler"], "[mq-deadline]") || during["nr_requests"] != "99" || during["read_ahead_kb"] != "64" {
		t.Errorf("in effect: %v", during)
	}
	// A second process must not start on top of it.
	j, err := Open(Options{Dir: dir, Host: tunable.Host{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Apply(t.Context(), owner, nil); trial.AsFailure(err).Class != reason.TunablesNotRestored {
		t.Errorf("got %v", err)
	}
	report := j.Restore(t.Context())
	if err := j.Close(); err != nil || !report.Complete() || report.Count(Restored) != 4 {
		t.Errorf("%v, %v", report.Items, err)
	}
	if after := queueOf(t, disk); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("before %v, after %v", before, after)
	}
}

// The kernel forgets them with the scheduler, whatever its version has.
func TestWhatARealSchedulerHasOfItsOwnIsPutBack(t *testing.T) {
	device, disk := loop(t)
	for scheduler, own := range map[string]map[string]string{
		"mq-deadline": {"read_expire": "120", "fifo_batch": "5", "async_depth": "7"},
		"kyber":       {"read_lat_nsec": "3000000"},
		"bfq":         {"slice_idle": "4", "low_latency": "0", "back_seek_penalty": "3"},
	} {
		write(t, disk, "scheduler", scheduler)
		for name, value := range own {
			write(t, disk, "iosched/"+name, value)
		}
		before := queueOf(t, disk)
		for name, value := range own {
			if before["iosched/"+name] != value {
				t.Fatalf("%s: %s is %q, want %q", scheduler, name, before["iosched/"+name], value)
			}
		}
		for _, settings := range [][]tunable.Setting{
			{{Name: "block.queue.scheduler", Value: "none"}, {Name: "block.queue.nr_requests", Value: "99"}},
			{{Name: "block.queue.nr_requests", Value: "99"}, {Name: "block.queue.read_ahead_kb", Value: "64"}},
		} {
			dir := filepath.Join(t.TempDir(), "journal")
			do(t, helper{Dir: dir, Target: device, Settings: settings})
			if report := restoreInAnotherProcess(t, dir); !report.Complete() || report.Count(Restored) != 2 {
				t.Errorf("%s: %v", scheduler, report.Items)
			}
			if after := queueOf(t, disk); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%s, %v: before %v, after %v", scheduler, settings, before, after)
			}
		}
	}
}

func TestAValueThatTheRealKernelRefusesOrRoundsLeavesNothing(t *testing.T) {
	device, disk := loop(t)
	before := queueOf(t, disk)
	place, err := tunable.Host{}.Place(t.Context(), device)
	if err != nil {
		t.Fatal(err)
	}
	j, err := Open(Options{Dir: t.TempDir(), Host: tunable.Host{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	for name, c := range map[string]struct{ tunable, value, field, want string }{
		"clamped": {"block.queue.max_sectors_kb", "1048576", "tunables[1].value", "but was 1280 when read back"},
		"refused": {"block.queue.nr_requests", "10240", "tunables[1]", "invalid argument"},
	} {
		assignments, err := tunable.Host{}.Plan(t.Context(), []tunable.Setting{{Name: "block.queue.nomerges", Value: "2"}, {Name: c.tunable, Value: c.value}}, place)
		if err != nil {
			t.Fatal(err)
		}
		_, err = j.Apply(t.Context(), owner, assignments)
		if f := trial.AsFailure(err); f.Class != reason.TunableNotApplied || !strings.Contains(f.Message, c.want) || f.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
		if after := queueOf(t, disk); fmt.Sprint(after) != fmt.Sprint(before) || len(j.Entries()) != 0 {
			t.Errorf("%s: before %v, after %v, %v", name, before, after, j.Entries())
		}
	}
}

func TestARealLoopDeviceIsPutBackWhateverIsAttachedToIt(t *testing.T) {
	device := devicetest.OwnLoop(t, 64<<20)
	disk := filepath.Base(device)
	backing, err := os.ReadFile(filepath.Join("/sys/block", disk, "loop/backing_file"))
	if err != nil {
		t.Fatal(err)
	}
	file := strings.TrimSpace(string(backing))
	apply := func(dir string) {
		t.Helper()
		do(t, helper{Dir: dir, Target: device, Settings: []tunable.Setting{{Name: "block.queue.nomerges", Value: "2"}}})
	}
	if write(t, disk, "nomerges", "0"); queueOf(t, disk)["nomerges"] != "0" {
		t.Fatal("nomerges")
	}

	dir := t.TempDir()
	apply(dir)
	devicetest.Run(t, "losetup", "--detach", device)
	devicetest.Run(t, "losetup", device, file)
	if report := restoreInAnotherProcess(t, dir); report.Count(Restored) != 1 || queueOf(t, disk)["nomerges"] != "0" {
		t.Errorf("with its file again: %v, %v", report.Items, queueOf(t, disk))
	}

	other := filepath.Join(t.TempDir(), "other.img")
	if err := os.WriteFile(other, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, then := range map[string]func(){
		"without a file":    func() {},
		"with another file": func() { devicetest.Run(t, "losetup", device, other) },
	} {
		before := queueOf(t, disk)
		dir = t.TempDir()
		do(t, helper{Dir: dir, Target: device, Settings: asked})
		devicetest.Run(t, "losetup", "--detach", device)
		then()
		report := restoreInAnotherProcess(t, dir)
		if after := queueOf(t, disk); !report.Complete() || fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: %v\nbefore %v\nafter  %v", name, report.Items, before, after)
		}
		if name == "without a file" {
			devicetest.Run(t, "losetup", device, file)
		}
	}
}
