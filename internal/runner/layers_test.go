package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/environment"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/verdict"
	"storagebench.io/storagebench/internal/workload"
)

// A barrier that is turned off while a trial runs, or before it, is seen: the mount options that the
// worker found when it began do not hold for ever.
func TestLayersAreLookedAtBeforeAndAfterEachTrial(t *testing.T) {
	mount := func(t *testing.T, root, options string) {
		t.Helper()
		path := filepath.Join(root, "proc/self/mountinfo")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("20 1 8:0 / / rw - ext4 /dev/sda "+options+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		// options of the file system when the worker begins, and before and after the trial.
		worker, before, after string
		// unsafe: the number is of a file system without barriers.
		unsafe, layers, after2 bool
	}{
		"nothing changes":    {"rw", "rw", "rw", false, false, false},
		"before the trial":   {"rw", "rw,nobarrier", "rw,nobarrier", true, true, false},
		"during the trial":   {"rw", "rw", "rw,nobarrier", true, false, true},
		"back in the middle": {"rw", "rw,nobarrier", "rw", true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			root, b := t.TempDir(), newBed(t)
			w, err := newWorker(Options{Plan: b.plan, Worker: b.plan.Workers[0].Name, Spool: b.spool, Clock: fakeClock{}})
			if err != nil {
				t.Fatal(err)
			}
			w.System.Root, w.TargetPath = root, t.TempDir()
			mount(t, root, c.worker)
			w.summary.Environment = environment.Collect(environment.Input{System: w.System, Path: w.TargetPath, Mode: w.target.Mode})
			mount(t, root, c.before)
			b.engine.change = func(_ workload.Env, m *result.Measurement) {
				m.Operations = []string{"sync"}
				mount(t, root, c.after)
			}
			d := &result.Trial{Trial: b.plan.Trials[0]}
			m, _, err := w.execute(t.Context(), b.engine, workload.Env{Dir: w.TargetPath, Scratch: t.TempDir()}, d, 1)
			if err != nil {
				t.Fatal(err)
			}
			d.Measurement = *m
			if (d.Layers != nil) != c.layers || (d.LayersAfter != nil) != c.after2 {
				t.Errorf("layers %+v, and after it %+v", d.Layers, d.LayersAfter)
			}
			told := slices.ContainsFunc(m.Notes, func(n string) bool {
				return strings.Contains(n, "the storage changed during the trial: options of fs:/")
			})
			if told != c.after2 {
				t.Errorf("notes %q", m.Notes)
			}
			found := slices.ContainsFunc(verdict.Judge(verdict.Of(d, w.summary.Environment)), func(v result.Verdict) bool { return v.Name == verdict.UnsafeConfiguration })
			if found != c.unsafe {
				t.Errorf("UnsafeConfiguration: %v", found)
			}
		})
	}
}
