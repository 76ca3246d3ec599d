package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/runner/journal"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/tunable/tunabletest"
)

// elsewhere is a machine whose knobs are changed, and which says that it is this one.
type elsewhere struct{ tunable.Host }

func (elsewhere) BootID() (string, error) { return tunable.Host{}.BootID() }

// leftJournal is the journal of a benchmark that was killed, with one disk that this
// machine has not, and one sysctl that it has not set: nothing here is written.
func leftJournal(t *testing.T, settings ...tunable.Setting) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "journal")
	kernel := tunabletest.New()
	kernel.Attach("sdzz", "8:0", "wwid-that-nobody-has")
	// No machine has these of its own, so that the present one is somebody else's here.
	kernel.Set("/proc/sys/vm/dirty_expire_centisecs", "30999")
	host := kernel.Host()
	disk, err := host.DeviceID("sdzz")
	if err != nil {
		t.Fatal(err)
	}
	assignments, err := host.Plan(t.Context(), settings, tunable.Place{Devices: []tunable.DeviceID{disk}})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(journal.Options{Dir: dir, Host: elsewhere{host}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Apply(t.Context(), journal.Owner{Namespace: "lab", Name: "flush", Run: "r1", Worker: "w"}, assignments); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

var (
	ofADisk   = tunable.Setting{Name: "block.queue.scheduler", Value: "bfq"}
	ofTheNode = tunable.Setting{Name: "vm.dirty_expire_centisecs", Value: "31337"}
)

func TestRestoreWithNothingToDo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	stdout, stderr, code := output(t, "restore", "--journal", dir)
	if code != exitDone || !strings.Contains(stdout, "nothing to restore") || stderr != "" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a journal was made")
	}
	if stdout, _, code = output(t, "restore", "--journal", dir, "-o", "json"); code != exitDone || !strings.Contains(stdout, `"items": []`) {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

// Between two trials a worker's journal is empty, and the settings will change again.
func TestRestoreBesideAWorkerSaysThatItIsBusy(t *testing.T) {
	dir, kernel := filepath.Join(t.TempDir(), "journal"), tunabletest.New()
	worker, err := journal.Open(journal.Options{Dir: dir, Host: kernel.Host()})
	if err != nil {
		t.Fatal(err)
	}
	again := func() error {
		return restoreNode(t.Context(), restoreFlags{dir: dir, output: "table"}, nil, kernel.Host(), io.Discard, io.Discard)
	}
	if err := again(); !errors.Is(err, journal.ErrBusy) {
		t.Errorf("beside a worker: %v", err)
	}
	if err := errors.Join(worker.Close(), again()); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestRestoreIsDoneWhenTheDiskIsGone(t *testing.T) {
	dir := leftJournal(t, ofADisk)
	stdout, stderr, code := output(t, "restore", "--journal", dir)
	if code != exitDone || !strings.Contains(stdout, "Gone       block.queue.scheduler of sdzz: disk sdzz is gone") || !strings.Contains(stdout, "1 gone") || stderr != "" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if stdout, _, code = output(t, "restore", "--journal", dir); code != exitDone || !strings.Contains(stdout, "nothing to restore") {
		t.Errorf("again: exit code %d\n%s", code, stdout)
	}
}

func TestRestoreLeavesWhatSomebodyElseHasChangedUntilItIsForgotten(t *testing.T) {
	dir := leftJournal(t, ofADisk, ofTheNode)
	for range 2 {
		stdout, stderr, code := output(t, "restore", "--journal", dir)
		if code != exitFailed || !strings.Contains(stdout, "Foreign    vm.dirty_expire_centisecs") || !strings.Contains(stderr, "restore --forget") {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	}
	stdout, stderr, code := output(t, "restore", "--journal", dir, "--forget", "-o", "json")
	var report journal.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exitDone || report.Count(journal.Forgotten) != 1 {
		t.Errorf("exit code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if entries, err := journal.Pending(dir); err != nil || entries != nil {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestRestoreDoesNotUseADamagedJournal(t *testing.T) {
	dir := leftJournal(t, ofADisk, ofTheNode)
	path := filepath.Join(dir, "tunables.journal")
	file, err := os.ReadFile(path)
	if err == nil {
		file[len(file)-10] ^= 1
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := output(t, "restore", "--journal", dir)
	if code != exitFailed || stdout != "" || !strings.Contains(stderr, "readable: block.queue.scheduler of sdzz was none before lab/flush") || !strings.Contains(stderr, "damaged") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, file) {
		t.Errorf("it was touched: %v", err)
	}
	if _, stderr, code = output(t, "restore", "--journal", dir, "--forget"); code != exitDone || !strings.Contains(stderr, "it is now "+path+".damaged-") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if stdout, _, code = output(t, "restore", "--journal", dir); code != exitDone || !strings.Contains(stdout, "nothing to restore") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

func TestTunablesAreListedWithPresentValues(t *testing.T) {
	stdout, stderr, code := output(t, "tunables", "--target", t.TempDir())
	present := strings.TrimSpace(read(t, "/proc/sys/vm/dirty_expire_centisecs"))
	var line string
	for l := range strings.SplitSeq(stdout, "\n") {
		if strings.HasPrefix(l, "vm.dirty_expire_centisecs ") {
			line = l
		}
	}
	if code != exitDone || stderr != "" || !strings.HasSuffix(line, " "+present) || strings.Count(stdout, "\n") != len(tunable.Catalogue())+1 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	stdout, _, code = output(t, "tunables", "block.queue.write_cache")
	for _, want := range []string{"write back, write through", "DataLoss with write through", "/sys/block/X/queue/write_cache", "Never", "n/a: unknown disks: set --target"} {
		if code != exitDone || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, stdout)
		}
	}
	stdout, _, code = output(t, "tunables", "-o", "json", "vm.dirty_ratio")
	var documents []tunableDocument
	if err := json.Unmarshal([]byte(stdout), &documents); err != nil || code != exitDone || len(documents) != 1 || documents[0].Scope != tunable.Node || len(documents[0].Present) != 1 {
		t.Errorf("exit code %d, %v\n%s", code, err, stdout)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestBadInputOfTunablesAndRestoreExitsWith2(t *testing.T) {
	for want, args := range map[string][]string{
		"did you mean block.queue.scheduler?":       {"tunables", "block.queue.scheduller"},
		"--target /nonexistent":                     {"tunables", "--target", "/nonexistent"},
		"use one of table, json":                    {"tunables", "-o", "xml"},
		"expected at most 1 argument (NAME), got 2": {"tunables", "a", "b"},
		`-o: there is no format "yaml"`:             {"restore", "-o", "yaml"},
		"see --help":                                {"restore", "now"},
	} {
		if stdout, stderr, code := output(t, args...); code != exitInvalid || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

func TestRestoreRefusesAJournalWithASettingThatIsNotPermitted(t *testing.T) {
	dir := leftJournal(t, ofADisk, ofTheNode)
	for permit, want := range map[string]string{
		`[]`: "block.queue.scheduler of sdzz, vm.dirty_expire_centisecs",
		`[{"name":"vm.dirty_expire_centisecs"},{"name":"block.queue.scheduler","devices":["sda*"]}]`: "(block.queue.scheduler of sdzz)",
	} {
		stdout, stderr, code := output(t, "restore", "--journal", dir, "--permit", permit)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d\n%s%s", permit, code, stdout, stderr)
		}
		if entries, err := journal.Pending(dir); err != nil || len(entries) != 2 {
			t.Errorf("%s: the journal holds %v, %v", permit, entries, err)
		}
	}
	// Permitted, the disk that is gone is taken off.
	stdout, _, _ := output(t, "restore", "--journal", dir, "--permit", `[{"name":"vm.dirty_expire_centisecs"},{"name":"block.queue.scheduler","devices":["sdzz"]}]`)
	if !strings.Contains(stdout, "Gone       block.queue.scheduler of sdzz") {
		t.Errorf("permitted: %s", stdout)
	}
}

func TestAPermitThatCannotBeReadIsBadInput(t *testing.T) {
	dir := leftJournal(t, ofADisk)
	for _, permit := range []string{"", "null", "{}", `[{"nam":"x"}]`, `[] []`, `["vm.dirty_ratio"]`} {
		if _, stderr, code := output(t, "restore", "--journal", dir, "--permit", permit); code != exitInvalid || !strings.Contains(stderr, "--permit") {
			t.Errorf("%q: exit code %d, %s", permit, code, stderr)
		}
	}
}
