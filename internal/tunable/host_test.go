package tunable

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/result"
)

func TestAProgramThatIsMissingIsNamed(t *testing.T) {
	_, err := Host{}.run(t.Context(), "storagebench-has-no-such-program")
	missing, ok := errors.AsType[*MissingError](err)
	if !ok || missing.Program != "storagebench-has-no-such-program" || !strings.Contains(err.Error(), "/usr/sbin") {
		t.Errorf("got %v", err)
	}
	// Behind a prefix it is the prefix that notices.
	_, err = Host{Prefix: []string{"env", "--"}}.run(t.Context(), "storagebench-has-no-such-program")
	if missing, ok := errors.AsType[*MissingError](err); !ok || missing.Program != "storagebench-has-no-such-program" {
		t.Errorf("got %v", err)
	}
}

func TestAProgramOfTheWorkingDirectoryOrOfPATHIsNotRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "zfs"), []byte("#!/bin/sh\necho fooled\n"), 0o700); err != nil { //nolint:gosec // it has to be a program
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("PATH", dir)
	if out, err := (Host{}).run(t.Context(), "zfs", "get"); strings.Contains(out, "fooled") {
		t.Errorf("got %q, %v", out, err)
	}
	out, err := Host{}.run(t.Context(), "env")
	if err != nil || strings.Contains(out, dir) || !strings.Contains(out, "LC_ALL=C") {
		t.Errorf("its environment: %q, %v", out, err)
	}
}

func TestWhatAProgramSaysIsPartOfTheError(t *testing.T) {
	_, err := Host{}.run(t.Context(), "ls", "/nonexistent-directory")
	if err == nil || !strings.Contains(err.Error(), "No such file") || !strings.Contains(err.Error(), "/nonexistent-directory") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := (Host{}).run(ctx, "sleep", "60"); err == nil || !strings.Contains(err.Error(), "timed out") {
		t.Errorf("got %v", err)
	}
}

// tree is a fake root with a pool on two partitions of two disks and a file.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"proc/self/mountinfo":            "20 1 0:40 / / rw - zfs tank/bench rw\n",
		"sys/devices/sda/dev":            "8:0",
		"sys/devices/sda/diskseq":        "3",
		"sys/devices/sda/wwid":           "naa.1",
		"sys/devices/sda/sda1/dev":       "8:1",
		"sys/devices/sda/sda1/partition": "1",
		"sys/devices/sdb/dev":            "8:16",
		"sys/devices/sdb/sdb1/dev":       "8:17",
		"sys/devices/sdb/sdb1/partition": "1",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"sys/block/sda": "sda", "sys/block/sdb": "sdb", "sys/class/block/sda1": "sda/sda1", "sys/class/block/sdb1": "sdb/sdb1",
		"sys/dev/block/8:1": "sda/sda1", "sys/dev/block/8:17": "sdb/sdb1",
	} {
		path := filepath.Join(root, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(root, "sys/devices", target), path); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestATargetOnZFSHasADatasetAndTheDisksOfItsPool(t *testing.T) {
	root := tree(t)
	h := Host{Files: Tree(root), System: device.System{Root: root}, Run: func(_ context.Context, argv []string) (string, error) {
		switch line := strings.Join(argv, " "); line {
		case "zfs get -H -p -o value guid tank/bench":
			return "77\n", nil
		case "zpool get -H -p -o value guid tank":
			return "88\n", nil
		case "zpool list -v -H -P -L tank":
			return "tank\t9G\t1G\t8G\n\tmirror-0\t9G\n\t/dev/sda1\t-\n\t/dev/sdb1\t-\n\tlogs\t-\n\t/var/log.img\t-\n\t/dev/sda1\t-\n", nil
		case "zpool status -P -L tank":
			return "config:\n\n\tNAME  STATE\n\ttank  ONLINE\n\t  mirror-0  ONLINE\n\t    /dev/sda1  ONLINE\n\t    /dev/sdb1  ONLINE\n\tlogs\n\t  /dev/sda1  ONLINE\n\nerrors: none\n", nil
		default:
			return "", errors.New("unexpected: " + line)
		}
	}}
	p, err := h.Place(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if p.Dataset == nil || *p.Dataset != (DatasetID{Name: "tank/bench", GUID: "77", PoolGUID: "88"}) {
		t.Errorf("dataset %+v, %s", p.Dataset, p.DatasetNote)
	}
	for i := range p.Devices {
		if p.Devices[i].Object == 0 {
			t.Errorf("%s has no identity", p.Devices[i].Name)
		}
		p.Devices[i].Object = 0 // whatever number the directory has
	}
	want := []DeviceID{{Name: "sda", Number: "8:0", DiskSeq: 3, WWID: "naa.1"}, {Name: "sdb", Number: "8:16"}}
	if !slices.Equal(p.Devices, want) || !strings.Contains(p.DeviceNote, "/var/log.img") {
		t.Errorf("devices %+v, %s", p.Devices, p.DeviceNote)
	}
	var layers []string
	for _, l := range p.Layers {
		layers = append(layers, l.ID)
	}
	if got, want := strings.Join(layers, " "), "fs:/ pool:tank pool:tank/mirror-0 sda1 sda sdb1 sdb pool:tank/logs"; got != want || result.Copies(p.Layers) != 2 {
		t.Errorf("layers %s, want %s", got, want)
	}
	// Without zfs it is said why nothing is known.
	h.Run = func(context.Context, []string) (string, error) { return "", &MissingError{Program: "zfs"} }
	p, err = h.Place(t.Context(), t.TempDir())
	if err != nil || p.Dataset != nil || len(p.Devices) != 0 || !strings.Contains(p.DatasetNote, "zfs is not installed") || p.DeviceNote == "" {
		t.Errorf("without zfs: %+v, %v", p, err)
	}
	if _, err := h.Place(t.Context(), filepath.Join(root, "nonexistent")); err == nil {
		t.Error("a target that does not exist")
	}
	if p, err := h.Place(t.Context(), ""); err != nil || p.Path != "" || p.Devices != nil {
		t.Errorf("no target: %+v, %v", p, err)
	}
}
