package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/tunable/tunabletest"
)

const setting = "/proc/sys/vm/vfs_cache_pressure"

// left makes a journal with one setting to put back, in a directory of its own.
func left(t *testing.T) (kernel *tunabletest.Kernel, dir string) {
	t.Helper()
	kernel, dir = tunabletest.New(), filepath.Join(t.TempDir(), "var", "journal")
	j := opened(t, dir, kernel)
	apply(t, j, kernel, "", "vm.vfs_cache_pressure=50")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return kernel, dir
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// refused checks that neither Open nor Pending takes what is there, and that nothing of
// the node was changed.
func refused(t *testing.T, kernel *tunabletest.Kernel, dir, want string) {
	t.Helper()
	before := kernel.Get(setting)
	_, openErr := Open(Options{Dir: dir, Host: kernel.Host()})
	_, pendingErr := Pending(dir)
	for name, err := range map[string]error{"open": openErr, "pending": pendingErr} {
		f, ok := errors.AsType[*trial.Failure](err)
		if !ok || f.Class != reason.TunablesNotRestored || f.Remedy == "" || !strings.Contains(f.Message, want) {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
	if after := kernel.Get(setting); after != before {
		t.Errorf("%s was %s and is %s", setting, before, after)
	}
}

func TestAJournalThatOthersMayHavePlantedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(dir, file string) []error
		want  string
		root  bool // only root can plant it
	}{
		"a file of another user":         {plant: func(_, file string) []error { return []error{os.Chown(file, 1234, 1234)} }, want: "belongs to user 1234", root: true},
		"a directory of another user":    {plant: func(dir, _ string) []error { return []error{os.Chown(dir, 1234, 1234)} }, want: "belongs to user 1234", root: true},
		"a parent of another user":       {plant: func(dir, _ string) []error { return []error{os.Chown(filepath.Dir(dir), 1234, 1234)} }, want: "belongs to user 1234", root: true},
		"a file that a group can write":  {plant: func(_, file string) []error { return []error{os.Chmod(file, 0o620)} }, want: "is writable by others"},
		"a file that all can write":      {plant: func(_, file string) []error { return []error{os.Chmod(file, 0o602)} }, want: "is writable by others"},
		"a directory that all can write": {plant: func(dir, _ string) []error { return []error{os.Chmod(dir, 0o707)} }, want: "is writable by others"},
		"a directory that is sticky":     {plant: func(dir, _ string) []error { return []error{os.Chmod(dir, 0o777|os.ModeSticky)} }, want: "is writable by others"},
		"a parent that all can write":    {plant: func(dir, _ string) []error { return []error{os.Chmod(filepath.Dir(dir), 0o777)} }, want: "is writable by others"},
		"a second name": {plant: func(dir, file string) []error {
			return []error{os.Link(file, filepath.Join(filepath.Dir(dir), "kept"))}
		}, want: "hard links"},
		"a link in the place of the file": {plant: func(dir, file string) []error {
			return []error{os.Rename(file, dir+".kept"), os.Symlink(dir+".kept", file)}
		}, want: "is a symbolic link"},
		"a link in the place of the directory": {plant: func(dir, _ string) []error { return []error{os.Rename(dir, dir+".kept"), os.Symlink(dir+".kept", dir)} }, want: "is a symbolic link"},
		"a link in the place of a parent": {plant: func(dir, _ string) []error {
			parent := filepath.Dir(dir)
			return []error{os.Rename(parent, parent+".kept"), os.Symlink(parent+".kept", parent)}
		}, want: "is a symbolic link"},
		"a FIFO":      {plant: func(_, file string) []error { return []error{os.Remove(file), syscall.Mkfifo(file, 0o600)} }, want: "is not a regular file"},
		"a directory": {plant: func(_, file string) []error { return []error{os.Remove(file), os.Mkdir(file, 0o700)} }, want: "is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				t.Log("not root: nobody here can give a file away, so there is nothing to refuse")
				return
			}
			kernel, dir := left(t)
			must(t, c.plant(dir, filepath.Join(dir, fileName))...)
			refused(t, kernel, dir, c.want)
		})
	}
}

func TestALockThatWasPlantedIsNotOpened(t *testing.T) {
	kernel, dir := left(t)
	victim := filepath.Join(t.TempDir(), "victim")
	lock := filepath.Join(dir, lockName)
	must(t, os.Remove(lock), os.Symlink(victim, lock))
	_, err := Open(Options{Dir: dir, Host: kernel.Host()})
	if f := trial.AsFailure(err); f.Class != reason.TunablesNotRestored || !strings.Contains(f.Message, "symbolic link") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(victim); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the link was followed: %v", err)
	}
}

// A journal is written under a second name first, which can be planted as well.
func TestAFilePlantedForTheNextVersionIsNotWrittenThrough(t *testing.T) {
	kernel, dir := left(t)
	j := opened(t, dir, kernel)
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("precious"), 0o600), os.Symlink(victim, filepath.Join(dir, newName)))
	if err := j.save(j.Entries()); err == nil {
		t.Error("the journal was written through a link")
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Errorf("the victim holds %q, %v", b, err)
	}
}

func TestOnlyPermittedSettingsMayStandInAJournal(t *testing.T) {
	kernel := tunabletest.New()
	kernel.Attach("sda", "8:0", "wwid-a")
	dir := filepath.Join(t.TempDir(), "journal")
	j := opened(t, dir, kernel)
	apply(t, j, kernel, "sda", "block.queue.nomerges=2", "vm.vfs_cache_pressure=50")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	ofDisk, ofNode := trial.Tunable{Name: "block.queue.nomerges", Devices: []string{"sd*"}}, trial.Tunable{Name: "vm.vfs_cache_pressure"}
	for name, c := range map[string]struct {
		permit []trial.Tunable
		want   string // empty: permitted
	}{
		"both":                {permit: []trial.Tunable{ofDisk, ofNode}},
		"no permit was given": {},
		"nothing":             {permit: []trial.Tunable{}, want: "block.queue.nomerges of sda, vm.vfs_cache_pressure"},
		"not the node's":      {permit: []trial.Tunable{ofDisk}, want: "(vm.vfs_cache_pressure)"},
		"another disk":        {permit: []trial.Tunable{{Name: ofDisk.Name, Devices: []string{"nvme*"}}, ofNode}, want: "(block.queue.nomerges of sda)"},
		"another setting":     {permit: []trial.Tunable{{Name: "block.queue.scheduler", Devices: []string{"**"}}, ofNode}, want: "(block.queue.nomerges of sda)"},
	} {
		j, err := Open(Options{Dir: dir, Host: kernel.Host(), Permit: c.permit})
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else {
				must(t, j.Close())
			}
			continue
		}
		if f := trial.AsFailure(err); f.Class != reason.TunablesNotRestored || !strings.Contains(f.Message, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if v := kernel.Get(setting); v != "50" {
		t.Errorf("%s is %s: something was written", setting, v)
	}
}

func TestACompanionThatNoKernelChangesIsNotPermitted(t *testing.T) {
	disk := tunable.DeviceID{Name: "sda", Number: "8:0"}
	entries := []Entry{{
		Knob:       tunable.Knob{Tunable: "block.queue.nomerges", Device: &disk},
		Companions: []Companion{{Tunable: "block.queue.scheduler"}, {Tunable: "vm.vfs_cache_pressure"}},
	}}
	err := checkPermitted([]trial.Tunable{{Name: "block.queue.nomerges", Devices: []string{"sda"}}}, entries)
	if refused, ok := errors.AsType[*NotPermittedError](err); !ok || len(refused.Knobs) != 1 || refused.Knobs[0].Tunable != "vm.vfs_cache_pressure" {
		t.Errorf("got %v", err)
	}
}
