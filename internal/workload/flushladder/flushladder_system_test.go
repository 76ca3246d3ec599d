//go:build system

package flushladder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

const quick = `{"size":"64Mi","operations":20,"repeats":6}`

// A loop device without direct I/O is a disk with a volatile cache, the page cache of its file. Told to
// flush, it writes that to the disk below; if the file is in memory there is nothing that could be
// written, which is what a disk that ignores flushes looks like.
func TestAFlushOfACacheTakesLongerTheMoreThereIsAndOneOfNothingDoesNot(t *testing.T) {
	honest := devicetest.Loop(t, 128<<20)
	m := measureOnce(t, onDevice(t, honest))
	onDisk := m.Metrics["ladder.most"].Value
	if growth := m.Metrics["ladder.growth"].Value; growth < 2 {
		t.Errorf("on a disk: %v times as long", growth)
	}
	if notes := strings.Join(m.Notes, " "); strings.Contains(notes, "hardly longer") || !strings.Contains(notes, "a power cut proves") {
		t.Errorf("the notes are %s", notes)
	}

	memory := t.TempDir()
	devicetest.Mount(t, memory, "tmpfs", "tmpfs")
	file := filepath.Join(memory, "disk.img")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 128<<20); err != nil {
		t.Fatal(err)
	}
	m = measureOnce(t, onDevice(t, devicetest.Attach(t, file)))
	if inMemory := m.Metrics["ladder.most"].Value; inMemory > onDisk/4 {
		t.Errorf("a flush of all takes %v s in memory, and %v s on a disk", inMemory, onDisk)
	}
}

func onDevice(t *testing.T, device string) workload.Env {
	t.Helper()
	env := newEnv(t, "", quick)
	env.Device, env.Target.Mode = device, trial.Block
	return env
}

// A ramfs refuses O_DIRECT, as a program that keeps files may.
func TestATargetThatRefusesDirectIOHasTheOtherRungs(t *testing.T) {
	dir := t.TempDir()
	devicetest.Mount(t, dir, "ramfs", "ramfs")
	m := measureOnce(t, newEnv(t, dir, `{"size":"8Mi","operations":20,"repeats":6}`))
	notes := strings.Join(m.Notes, "; ")
	for _, rung := range []string{"direct", "fua"} {
		if !strings.Contains(notes, rung+" is left out: the target refuses direct I/O") {
			t.Errorf("the notes do not say that %s is left out: %s", rung, notes)
		}
	}
	if m.Histograms["fdatasync"].Count() == 0 {
		t.Error("fdatasync was not measured")
	}
}
