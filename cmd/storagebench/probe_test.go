package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/result"
)

// mirrored is a machine whose root is on a loop device, with a file on a mirror of two disks.
func mirrored(t *testing.T) device.System {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"proc/self/mountinfo":              "20 1 7:0 / / rw - ext4 /dev/loop0 rw\n21 20 9:0 / /srv rw - xfs /dev/md0 rw\n22 20 0:9 / /run rw - tmpfs none rw\n",
		"proc/devices":                     "Block devices:\n  7 loop\n  8 sd\n  9 md\n",
		"srv/disk.img":                     "",
		"sys/devices/loop0/dev":            "7:0",
		"sys/devices/loop0/size":           "2048",
		"sys/devices/loop0/loop/dio":       "0",
		"sys/devices/md0/dev":              "9:0",
		"sys/devices/md0/md/level":         "raid1",
		"sys/devices/md0/md/raid_disks":    "2",
		"sys/devices/sda/dev":              "8:0",
		"sys/devices/sda/size":             "4096",
		"sys/devices/sda/cache_type":       "write back",
		"sys/devices/sdb/dev":              "8:16",
		"sys/devices/sdb/device/model":     "FAST\x1b[31m",
		"sys/devices/sdb/queue/rotational": "1",

		"sys/devices/loop0/loop/backing_file":     "/srv/disk.img",
		"sys/devices/sda/queue/write_cache":       "write through",
		"sys/devices/sdb/queue/write_cache":       "write back",
		"sys/devices/sdb/queue/fua":               "1",
		"sys/devices/sdb/queue/discard_max_bytes": "0",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"dev/block/7:0": "loop0", "dev/block/9:0": "md0", "dev/block/8:0": "sda", "dev/block/8:16": "sdb",
		"devices/md0/slaves/sda": "sda", "devices/md0/slaves/sdb": "sdb",
	} {
		path := filepath.Join(root, "sys", link)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(root, "sys/devices", target), path); err != nil {
			t.Fatal(err)
		}
	}
	return device.System{Root: root}
}

func TestProbeShowsWhatIsBelowAPath(t *testing.T) {
	var out strings.Builder
	dir := t.TempDir()
	if err := probe(&out, mirrored(t), "tree", []string{dir}); err != nil {
		t.Fatal(err)
	}
	want := dir + `
LAYER        TYPE   SIZE      CACHE          FLUSH         DISCARD  ABOUT
fs:/         ext4                                                   /dev/loop0
└─loop0      loop   1.00 MiB                                        file /srv/disk.img, through the page cache
  └─fs:/srv  xfs                                                    /dev/md0
    └─md0    raid1                                                  2 copies
      ├─sda  scsi   2.00 MiB  write through  NO                     the device itself says write back
      └─sdb  scsi             write back     yes, and FUA  no       FAST?[31m, spinning
The disks write 2 copies of each block.
Direct I/O does not pass all page caches: loop0 reads and writes its file /srv/disk.img through the page cache (loop/dio is 0).
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestProbeWritesJSON(t *testing.T) {
	var out strings.Builder
	dir := t.TempDir()
	if err := probe(&out, mirrored(t), "json", []string{dir, dir}); err != nil {
		t.Fatal(err)
	}
	var documents []probeDocument
	if err := json.Unmarshal([]byte(out.String()), &documents); err != nil {
		t.Fatal(err)
	}
	if len(documents) != 2 || len(documents[1].Layers) != 6 || documents[1].Copies != 2 || documents[1].Below != result.CachedAnyway || documents[1].Path != dir {
		t.Errorf("got %+v", documents)
	}
}

func TestProbeSaysWhatItCannotShow(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "pipe")
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"no path":             {[]string{"probe"}, "expected at least 1 argument (PATH), got 0", exitInvalid},
		"nothing there":       {[]string{"probe", socket}, socket + " does not exist; give a directory", exitInvalid},
		"a character device":  {[]string{"probe", "/dev/null"}, "/dev/null holds no data", exitInvalid},
		"no file system":      {[]string{"probe", "/proc"}, "/proc is on a file system of type proc, and storagebench does not know what that is on", exitInvalid},
		"an unknown format":   {[]string{"probe", "-o", "jsn", "/"}, "json", exitInvalid},
		"only one of several": {[]string{"probe", socket, "/"}, "does not exist", exitInvalid},
	} {
		stdout, stderr, code := output(t, c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d\n%s\n%s", name, code, stderr, stdout)
		}
		if shown := strings.Contains(stdout, "LAYER"); shown != (name == "only one of several") {
			t.Errorf("%s: printed\n%s", name, stdout)
		}
	}
	err := probe(&strings.Builder{}, device.System{Root: t.TempDir()}, "tree", []string{"/"})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "mountinfo") {
		t.Errorf("without /proc: %v", err)
	}
}
