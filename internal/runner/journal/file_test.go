package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/tunable/tunabletest"
)

func opened(t *testing.T, dir string, kernel *tunabletest.Kernel) *Journal {
	t.Helper()
	j, err := Open(Options{Dir: dir, Host: kernel.Host()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	j.store = onDisk{j.store} // also where /tmp is in memory
	return j
}

// onDisk is a store that keeps its journal over a reboot.
type onDisk struct{ store }

func (onDisk) forgets() (string, error) { return "", nil }

func TestAFileSystemInMemoryForgets(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "journal-") //nolint:usetesting // which is a tmpfs on every Linux
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	j, err := Open(Options{Dir: dir, Host: tunabletest.New().Host()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	if system, err := j.store.forgets(); system != "tmpfs" || err != nil {
		t.Errorf("got %q, %v", system, err)
	}
}

var owner = Owner{Namespace: "lab", Name: "flush", Run: "r1", Worker: "fast.node-a"}

func apply(t *testing.T, j *Journal, kernel *tunabletest.Kernel, device string, settings ...string) []Change {
	t.Helper()
	changes, err := j.Apply(t.Context(), owner, plan(t, kernel, device, settings...))
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// plan makes assignments of name=value on a device, if there is one.
func plan(t *testing.T, kernel *tunabletest.Kernel, device string, settings ...string) []tunable.Assignment {
	t.Helper()
	h := kernel.Host()
	p := tunable.Place{Dataset: &tunable.DatasetID{Name: "tank/bench", GUID: "2", PoolGUID: tunabletest.PoolGUID}}
	if device != "" {
		d, err := h.DeviceID(device)
		if err != nil {
			t.Fatal(err)
		}
		p.Devices = append(p.Devices, d)
	}
	var all []tunable.Setting
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		all = append(all, tunable.Setting{Name: name, Value: value})
	}
	out, err := h.Plan(t.Context(), all, p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAJournalOutlivesItsProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "journal")
	kernel := tunabletest.New()
	if entries, err := Pending(dir); err != nil || entries != nil {
		t.Errorf("of a node that never had one: %v, %v", entries, err)
	}
	first := opened(t, dir, kernel)
	apply(t, first, kernel, "", "vm.dirty_expire_centisecs=100", "zfs.module.zfs_nocacheflush=1")
	if entries, err := Pending(dir); err != nil || len(entries) != 2 || entries[0].Owner != owner || entries[0].Old.Value != "3000" {
		t.Errorf("while it is open: %+v, %v", entries, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := opened(t, dir, kernel)
	_, err := second.Apply(t.Context(), owner, plan(t, kernel, "", "vm.dirty_ratio=5"))
	f := trial.AsFailure(err)
	if f.Class != reason.TunablesNotRestored || !strings.Contains(f.Message, "lab/flush (run r1, worker fast.node-a)") || !strings.Contains(f.Remedy, "storagebench restore --journal "+dir) {
		t.Errorf("on top of it: %v", err)
	}
	if report := second.Restore(t.Context()); !report.Complete() || report.Count(Restored) != 2 {
		t.Errorf("got %v", report.Items)
	}
	if kernel.Get("/proc/sys/vm/dirty_expire_centisecs") != "3000" || kernel.Get("/sys/module/zfs/parameters/zfs_nocacheflush") != "0" {
		t.Error("the node is not as it was")
	}
	if entries, err := Pending(dir); err != nil || entries != nil {
		t.Errorf("at the end: %v, %v", entries, err)
	}
	names, err := tunable.Tree(dir).ReadDir("/")
	if err != nil || !slices.Equal(names, []string{lockName}) {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func TestOneProcessHasAJournalAtATime(t *testing.T) {
	dir := t.TempDir()
	kernel := tunabletest.New()
	j := opened(t, dir, kernel)
	_, err := Open(Options{Dir: dir, Host: kernel.Host()})
	if f := trial.AsFailure(err); !errors.Is(err, ErrBusy) || f.Class != reason.TunableNotApplied || f.Remedy == "" {
		t.Errorf("got %v", err)
	}
	if _, err := SetAside(dir, time.Now()); !errors.Is(err, ErrBusy) {
		t.Errorf("set aside: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	opened(t, dir, kernel)
}

func TestADamagedJournalIsKeptAndNothingIsTouched(t *testing.T) {
	dir := t.TempDir()
	kernel := tunabletest.New()
	j := opened(t, dir, kernel)
	apply(t, j, kernel, "", "vm.dirty_expire_centisecs=100", "vm.vfs_cache_pressure=50")
	_ = j.Close()
	path := filepath.Join(dir, fileName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := file[:len(file)-5]
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(Options{Dir: dir, Host: kernel.Host()})
	corrupt, ok := errors.AsType[*CorruptError](err)
	if f := trial.AsFailure(err); !ok || corrupt.Path != path || len(corrupt.Intact) != 1 || f.Class != reason.TunablesNotRestored || !strings.Contains(f.Remedy, "--forget") {
		t.Errorf("open: %v", err)
	}
	if _, err := Pending(dir); err == nil {
		t.Error("a damaged journal is taken for none")
	}
	if kernel.Get("/proc/sys/vm/vfs_cache_pressure") != "50" {
		t.Error("something was touched")
	}
	to, err := SetAside(dir, time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC))
	if err != nil || filepath.Base(to) != "tunables.journal.damaged-20261121T010203.000000000Z" {
		t.Fatalf("%s, %v", to, err)
	}
	if kept, err := os.ReadFile(to); err != nil || !bytes.Equal(kept, damaged) {
		t.Errorf("kept %q, %v", kept, err)
	}
	opened(t, dir, kernel)
}

func TestWhatWasBeingWrittenIsNoJournal(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, newName), encoded(t), 0o600); err != nil {
		t.Fatal(err)
	}
	j := opened(t, dir, tunabletest.New())
	if len(j.Entries()) != 0 {
		t.Error("it was read")
	}
	if _, err := os.Stat(filepath.Join(dir, newName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there still: %v", err)
	}
}

func TestAnEmptyFileAndOneThatIsTooLargeAreDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Pending(dir); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("got %v", err)
	}
	if err := os.Truncate(path, maxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Pending(dir); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("got %v", err)
	}
}

func TestAJournalThatCannotBeMadeSaysWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Options{Dir: filepath.Join(file, "journal"), Host: tunabletest.New().Host()})
	if f := trial.AsFailure(err); f.Class != reason.TunableNotApplied || !strings.Contains(f.Message, file) {
		t.Errorf("got %v", err)
	}
}
