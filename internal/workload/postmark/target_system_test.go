//go:build system

package postmark

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/trial"
)

// fileSystems on which a trial must fail in the same way.
func fileSystems() map[string]func(t *testing.T) string {
	return map[string]func(t *testing.T) string{
		"ext4": func(t *testing.T) string {
			t.Helper()
			dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
			return dir
		},
		"tmpfs": func(t *testing.T) string {
			t.Helper()
			dir := t.TempDir()
			devicetest.Mount(t, dir, "tmpfs", "tmpfs", "-o", "size=48m")
			return dir
		},
	}
}

// below makes the directory of a run, as the root of a file system has lost+found.
func below(t *testing.T, root string) string {
	t.Helper()
	dir := filepath.Join(root, "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestATargetThatFillsUpIsNoSpace(t *testing.T) {
	for kind, mount := range fileSystems() {
		for name, fields := range map[string]map[string]any{
			"Modern":                        {},
			"Modern with threads":           {"threads": 3, "subdirectories": 4},
			"Modern and durable":            {"durability": "File"},
			"Modern and durable at the end": {"durability": "SyncAtEnd"},
			"Compatible":                    {"mode": "Compatible"},
		} {
			t.Run(kind+", "+name, func(t *testing.T) {
				fields["files"], fields["transactions"], fields["maxSize"] = 500, 2000, 30000
				root := mount(t)
				env := newEnv(t, below(t, root), fields)
				if err := (Engine{}).Prepare(t.Context(), env); err != nil {
					t.Fatal(err)
				}
				fill(t, filepath.Join(root, "other"), 4<<20) // somebody else writes meanwhile
				m, err := Engine{}.Run(t.Context(), env)
				f, ok := errors.AsType[*trial.Failure](err)
				if !ok || f.Class != reason.NoSpace || f.Field != "spec.targets[fast].storageClass.size" || !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("got %+v", err)
				}
				if m == nil || m.Metrics["create.alone.count"].Value < 100 {
					t.Errorf("what was measured is not kept: %+v", m)
				}
				checkEmpty(t, env.Dir)
			})
		}
	}
}

// fill writes a file until so many bytes are left.
func fill(t *testing.T, path string, left uint64) {
	t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &fs); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, fs.Bavail*uint64(fs.Bsize)-left), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestATargetWithoutInodesIsTooSmall(t *testing.T) {
	dir := t.TempDir()
	devicetest.Mount(t, dir, "tmpfs", "tmpfs", "-o", "nr_inodes=300,size=100m")
	env := newEnv(t, dir, map[string]any{"files": 500, "transactions": 10})
	f, ok := errors.AsType[*trial.Failure]((Engine{}).Prepare(t.Context(), env))
	if !ok || f.Class != reason.TargetTooSmall || !strings.Contains(f.Message, "inodes") || f.Remedy == "" {
		t.Errorf("got %+v", f)
	}
	checkEmpty(t, dir)
	// Who does not ask before is told when it happens.
	_, err := Engine{}.Run(t.Context(), env)
	f, ok = errors.AsType[*trial.Failure](err)
	if !ok || f.Class != reason.NoSpace || !strings.Contains(f.Remedy, "inodes") {
		t.Errorf("got %+v", err)
	}
	checkEmpty(t, dir)
}

func TestATargetThatIsReadOnlyIsUnusable(t *testing.T) {
	for kind, mount := range fileSystems() {
		t.Run(kind, func(t *testing.T) {
			root := mount(t)
			env := newEnv(t, below(t, root), map[string]any{"files": 10, "transactions": 10})
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			devicetest.Run(t, "mount", "-o", "remount,ro", root)
			_, run := Engine{}.Run(t.Context(), env)
			for _, err := range []error{run, (Engine{}).Prepare(t.Context(), env)} {
				f, ok := errors.AsType[*trial.Failure](err)
				if !ok || f.Class != reason.TargetUnusable || !strings.Contains(f.Message, "read-only") || !errors.Is(err, syscall.EROFS) {
					t.Errorf("got %+v", err)
				}
			}
		})
	}
}
