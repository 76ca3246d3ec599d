package device

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes a fake root. A value that begins with "->" is a symbolic link.
func tree(t *testing.T, files map[string]string) System {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch target, link := strings.CutPrefix(content, "->"); {
		case link:
			err = os.Symlink(filepath.Join(root, target), path)
		case content == "/":
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(content+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return System{Root: root}
}

const mounts = `20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
21 20 0:5 / /dev rw - devtmpfs udev rw
30 20 253:0 / /data rw,noatime - xfs /dev/mapper/vg-data rw,attr2
31 20 9:0 / /raid rw - ext4 /dev/md0 rw
32 20 0:40 /sub /btrfs rw - btrfs /dev/sdb rw,space_cache
33 20 0:41 / /tank/bench rw - zfs tank/bench rw,xattr
34 20 0:42 / /net rw - nfs4 server:/export rw,vers=4.2
35 20 0:43 / /tmp rw - tmpfs none rw
36 20 0:44 / /over rw - overlay none rw,lowerdir=/l,upperdir=/data/upper,workdir=/data/work
37 20 7:3 / /loop rw - ext4 /dev/loop3 rw
38 30 259:0 / /data/nvme rw - xfs /dev/nvme0n1 rw
39 20 252:0 / /rbd rw - xfs /dev/rbd0 rw
40 20 8:32 / /iscsi rw - xfs /dev/sdc rw
41 20 0:45 / /fuse rw - fuse.s3fs s3fs rw
42 20 0:46 / /shadowed rw - tmpfs one rw
43 20 8:1 / /shadowed rw - ext4 /dev/sda1 rw
45 20 230:0 / /zvol rw - ext4 /dev/zd0 rw
44 20 0:47 / /self rw - overlay none rw,upperdir=/self/upper`

func fakeSystem(t *testing.T) System {
	t.Helper()
	return tree(t, map[string]string{
		"proc/self/mountinfo":           mounts,
		"sys/dev/block/8:1":             "->sys/devices/ata/sda/sda1",
		"sys/dev/block/253:0":           "->sys/devices/virtual/block/dm-0",
		"sys/dev/block/9:0":             "->sys/devices/virtual/block/md0",
		"sys/dev/block/7:3":             "->sys/devices/virtual/block/loop3",
		"sys/dev/block/259:0":           "->sys/devices/pci/nvme0n1",
		"sys/dev/block/252:0":           "->sys/devices/rbd/rbd0",
		"sys/dev/block/8:32":            "->sys/devices/platform/host3/session1/sdc",
		"sys/fs/btrfs/uuid/devices/sdb": "->sys/devices/ata/sdb",
		"sys/fs/btrfs/uuid/devices/sdd": "->sys/devices/ata/sdd",

		"sys/devices/ata/sda/size":                          "2048",
		"sys/devices/ata/sda/device/model":                  "SPIN 9000  ",
		"sys/devices/ata/sda/device/vendor":                 "ATA     ",
		"sys/devices/ata/sda/device/queue_depth":            "31",
		"sys/devices/ata/sda/queue/scheduler":               "none [mq-deadline]",
		"sys/devices/ata/sda/queue/write_cache":             "write back",
		"sys/devices/ata/sda/sda1/partition":                "1",
		"sys/devices/ata/sdb/size":                          "16",
		"sys/devices/ata/sdb/slaves":                        "/",
		"sys/devices/ata/sdd/size":                          "16",
		"sys/devices/virtual/block/dm-0/slaves/md0":         "->sys/devices/virtual/block/md0",
		"sys/devices/virtual/block/dm-0/slaves/sda1":        "->sys/devices/ata/sda/sda1",
		"sys/devices/virtual/block/md0/slaves/sda1":         "->sys/devices/ata/sda/sda1",
		"sys/devices/virtual/block/md0/slaves/sdb":          "->sys/devices/ata/sdb",
		"sys/devices/virtual/block/loop3/loop/backing_file": "/var/disk.img",
		"sys/devices/pci/nvme0n1/device/transport":          "tcp",
		"sys/dev/block/230:0":                               "->sys/devices/virtual/block/zd0",
		"sys/devices/virtual/block/zd0/size":                "8",
		"sys/devices/rbd/rbd0/size":                         "8",
		"sys/devices/platform/host3/session1/sdc/device":    "->sys/devices/platform/host3/session1/target",
		"sys/devices/platform/host3/session1/target/x":      "",
	})
}

func TestLeafDisksOfAPath(t *testing.T) {
	s := fakeSystem(t)
	for path, want := range map[string]struct{ disks, note string }{
		"/":                {"sda", ""},
		"/srv/deep/inside": {"sda", ""},
		"/data":            {"sda sdb", ""},
		"/database":        {"sda", ""}, // no part of /data
		"/data/nvme/x":     {"nvme0n1", "NVMe over tcp"},
		"/raid":            {"sda sdb", ""},
		"/btrfs/x":         {"sdb sdd", ""},
		"/tank/bench":      {"", "ZFS pool tank"},
		"/net":             {"", "on another machine"},
		"/tmp":             {"", "in memory"},
		"/over/x":          {"sda sdb", ""},
		"/self":            {"", "upper directory"},
		"/loop":            {"loop3", "loop device on the file /var/disk.img"},
		"/rbd":             {"rbd0", "Ceph RBD"},
		"/iscsi":           {"sdc", "iSCSI"},
		"/zvol":            {"zd0", "ZFS volume"},
		"/fuse":            {"", "a program keeps the files"},
		"/shadowed/x":      {"sda", ""},
	} {
		devices, note := s.UnderPath(path)
		var names []string
		for _, d := range devices {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); got != want.disks || (want.note == "") != (note == "") || !strings.Contains(note, want.note) {
			t.Errorf("%s: disks %q, note %q; want %q, %q", path, got, note, want.disks, want.note)
		}
	}
	if devices, note := s.UnderNumber(99, 9); len(devices) != 0 || !strings.Contains(note, "99:9") {
		t.Errorf("an unknown device: %v, %q", devices, note)
	}
}

func TestWhatSysfsSaysOfADisk(t *testing.T) {
	devices, _ := fakeSystem(t).UnderPath("/")
	d := devices[0]
	if d.Model != "ATA SPIN 9000" || d.SizeBytes != 1<<20 || d.Queue["scheduler"] != "none [mq-deadline]" ||
		d.Queue["write_cache"] != "write back" || d.Queue["device_queue_depth"] != "31" {
		t.Errorf("got %+v", d)
	}
	if _, ok := d.Queue["nr_requests"]; ok {
		t.Error("a setting that is not there has a value")
	}
}

func TestMountOptionsAreThoseOfMountAndSuperblock(t *testing.T) {
	fs, err := fakeSystem(t).Filesystem("/data/x")
	if err != nil || fs.Type != "xfs" || fs.Options != "rw,noatime,attr2" || fs.Source != "/dev/mapper/vg-data" {
		t.Errorf("got %+v, %v", fs, err)
	}
}

func TestLoopsInSysfsEnd(t *testing.T) {
	s := tree(t, map[string]string{
		"sys/dev/block/253:0":          "->sys/devices/dm-0",
		"sys/devices/dm-0/slaves/dm-1": "->sys/devices/dm-1",
		"sys/devices/dm-1/slaves/dm-0": "->sys/devices/dm-0",
	})
	if devices, note := s.UnderNumber(253, 0); len(devices) != 0 || note == "" {
		t.Errorf("got %v, %q", devices, note)
	}
}

func TestABlockDeviceThatIsNoZFSVolumeSaysSo(t *testing.T) {
	if name, err := ZvolName(os.DevNull); err == nil || name != "" {
		t.Errorf("got %q, %v", name, err)
	}
}
