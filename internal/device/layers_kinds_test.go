package device

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// machine is a tree with block devices: their names and where sysfs has them.
func machine(t *testing.T, mounts string, devices, files map[string]string) System {
	t.Helper()
	all := map[string]string{"proc/self/mountinfo": mounts}
	number := 0
	for name, dir := range devices {
		number++
		all[dir+"/dev"] = fmt.Sprintf("250:%d", number)
		all[fmt.Sprintf("sys/dev/block/250:%d", number)] = "->" + dir
		all["sys/class/block/"+name] = "->" + dir
	}
	maps.Copy(all, files)
	return tree(t, all)
}

// from returns the layers below a device of a machine.
func from(t *testing.T, s System, name string) []result.Layer {
	t.Helper()
	var major, minor int
	if _, err := fmt.Sscanf(attribute(s.path("sys/class/block", name), "dev"), "%d:%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	layers, err := s.DeviceLayers(major, minor)
	if err != nil {
		t.Fatal(err)
	}
	return layers
}

func TestWhatADiskIs(t *testing.T) {
	const pci = "sys/devices/pci0000:00/0000:00:01.0/"
	for name, c := range map[string]struct {
		device, dir string
		files       map[string]string
		kind        result.LayerKind
		word, note  string
	}{
		"virtio-scsi":       {"sda", pci + "virtio1/host0/target0/0:0/block/sda", nil, result.DiskLayer, "virtio-scsi", "virtual machine"},
		"of VMware":         {"sda", pci + "host0/target0/0:0/block/sda", map[string]string{"device/vendor": "VMware", "device/model": "Virtual disk"}, result.DiskLayer, "scsi", "virtual machine"},
		"SATA of bhyve":     {"sda", pci + "ata1/host0/target0/0:0/block/sda", map[string]string{"device/vendor": "ATA", "device/model": "BHYVE SATA DISK"}, result.DiskLayer, "sata", "virtual machine"},
		"a RAID on SATA":    {"sda", pci + "ata1/host0/target0/0:0/block/sda", map[string]string{"device/vendor": "ATA", "device/model": "MARVELL Raid VD"}, result.DiskLayer, "sata", "RAID controller"},
		"SATA":              {"sda", pci + "ata1/host0/target0/0:0/block/sda", map[string]string{"device/vendor": "ATA", "device/model": "ST18000NM000J"}, result.DiskLayer, "sata", ""},
		"USB":               {"sdb", pci + "usb2/2-1/2-1:1.0/host6/block/sdb", nil, result.DiskLayer, "usb", ""},
		"SAS":               {"sdc", pci + "host1/port-1:0/end_device-1:0/block/sdc", nil, result.DiskLayer, "sas", ""},
		"Fibre Channel":     {"sdd", pci + "host1/rport-1:0-0/block/sdd", nil, result.DiskLayer, "fc", "Fibre Channel"},
		"EBS":               {"nvme1n1", pci + "nvme/nvme1/nvme1n1", map[string]string{"device/transport": "pcie", "device/model": "Amazon Elastic Block Store"}, result.DiskLayer, "nvme", "EBS"},
		"NVMe":              {"nvme1n1", pci + "nvme/nvme1/nvme1n1", map[string]string{"device/transport": "pcie"}, result.DiskLayer, "nvme", ""},
		"NVMe over RDMA":    {"nvme1n1", "sys/devices/virtual/nvme-fabrics/ctl/nvme1/nvme1n1", map[string]string{"device/transport": "rdma"}, result.RemoteLayer, "nvme-rdma", "another machine"},
		"NVMe over loop":    {"nvme1n1", "sys/devices/virtual/nvme-fabrics/ctl/nvme1/nvme1n1", map[string]string{"device/transport": "loop"}, result.UnknownLayer, "nvme-loop", "a target of this machine"},
		"Xen":               {"xvda", "sys/devices/vbd-51712/block/xvda", nil, result.DiskLayer, "xen", "virtual machine"},
		"persistent memory": {"pmem0", "sys/devices/ndbus0/region0/namespace0.0/block/pmem0", nil, result.DiskLayer, "pmem", "memmap="},
		"nbd":               {"nbd3", "sys/devices/virtual/block/nbd3", nil, result.RemoteLayer, "nbd", "another machine"},
		"DRBD":              {"drbd0", "sys/devices/virtual/block/drbd0", nil, result.RemoteLayer, "drbd", "another machine"},
		"a program":         {"ublkb0", "sys/devices/virtual/block/ublkb0", nil, result.UnknownLayer, "ublk", "a program"},
		"zram that moves":   {"zram0", "sys/devices/virtual/block/zram0", map[string]string{"backing_dev": "/dev/sda5"}, result.MemoryLayer, "zram", "/dev/sda5"},
		"an SD card":        {"mmcblk0", "sys/devices/platform/mmc0/block/mmcblk0", nil, result.DiskLayer, "mmc", ""},
		"something else":    {"newdisk", "sys/devices/virtual/block/newdisk", nil, result.DiskLayer, "disk", ""},
	} {
		files := map[string]string{}
		for file, content := range c.files {
			files[c.dir+"/"+file] = content
		}
		l := from(t, machine(t, "", map[string]string{c.device: c.dir}, files), c.device)
		if len(l) != 1 || l[0].ID != c.device || l[0].Kind != c.kind || l[0].Type != c.word || (c.note == "") != (l[0].Note == "") || !strings.Contains(l[0].Note, c.note) {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestHowFastADiskSaysItTurns(t *testing.T) {
	const dir = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"
	for page, want := range map[string]int{
		"\x00\xb1\x00\x3c\x1c\x20\x00\x02": 7200,
		"\x00\xb1\x00\x3c\x00\x01\x00\x02": 0, // it does not turn
		"\x00\xb1\x00\x3c\x00\x00\x00\x00": 0, // it does not say
		"\x00\xb1\x00\x3c\xff\xff\x00\x00": 0,
		"\x00\xb1\x00\x3c":                 0, "": 0, // nothing that can be read
	} {
		l := from(t, machine(t, "", map[string]string{"sda": dir}, map[string]string{dir + "/device/vpd_pgb1": page}), "sda")
		if l[0].TurnsPerMinute != want {
			t.Errorf("%q: %d, want %d", page, l[0].TurnsPerMinute, want)
		}
	}
}

func TestWhatALinkCarries(t *testing.T) {
	const port = "sys/devices/pci0000:00/0000:00:1d.0"
	nvme := func(speed, width, portSpeed, portWidth string) map[string]string {
		return map[string]string{
			port + "/0000:01:00.0/max_link_speed": speed, port + "/0000:01:00.0/max_link_width": width,
			port + "/max_link_speed": portSpeed, port + "/max_link_width": portWidth,
			port + "/0000:01:00.0/nvme/nvme0/nvme0n1/device": "->" + port + "/0000:01:00.0/nvme/nvme0",
		}
	}
	const (
		usb = "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1"
		sas = port + "/host0/port-0:0"
	)
	const sata = "sys/devices/pci0000:00/0000:00:17.0/ata1"
	for name, c := range map[string]struct {
		device, dir string
		files       map[string]string
		want        float64
	}{
		"NVMe, four lanes of 8 GT/s": {"nvme0n1", port + "/0000:01:00.0/nvme/nvme0/nvme0n1", nvme("8.0 GT/s PCIe", "4", "8.0 GT/s PCIe", "4"), 4 * 8e9 / 8 * 128 / 130},
		"in a slower, wider slot":    {"nvme0n1", port + "/0000:01:00.0/nvme/nvme0/nvme0n1", nvme("16.0 GT/s PCIe", "4", "5.0 GT/s PCIe", "8"), 4 * 5e9 / 10},
		"of a virtual machine":       {"nvme0n1", port + "/0000:01:00.0/nvme/nvme0/nvme0n1", nvme("Unknown", "255", "Unknown", "255"), 0},
		"SATA": {"sda", sata + "/host0/target0:0:0/0:0:0:0/block/sda", map[string]string{
			sata + "/link1/ata_link/link1/sata_spd":                    "6.0 Gbps",
			sata + "/host0/target0:0:0/0:0:0:0/block/sda/device":       "->" + sata + "/host0/target0:0:0/0:0:0:0",
			"sys/devices/pci0000:00/0000:00:17.0/max_link_speed":       "8.0 GT/s PCIe",
			"sys/devices/pci0000:00/0000:00:17.0/max_link_width":       "1",
			sata + "/host0/target0:0:0/0:0:0:0/scsi_disk/0/cache_type": "write back",
		}, 600e6},
		"SATA without a link": {"sda", sata + "/host0/target0:0:0/0:0:0:0/block/sda", map[string]string{
			sata + "/link1/ata_link/link1/sata_spd":              "<unknown>",
			sata + "/host0/target0:0:0/0:0:0:0/block/sda/device": "->" + sata + "/host0/target0:0:0/0:0:0:0",
		}, 0},
		"a disk on USB 3": {"sda", usb + "/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sda", map[string]string{
			usb + "/speed": "5000", "sys/devices/pci0000:00/0000:00:14.0/usb2/speed": "20000",
			usb + "/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sda/device": "->" + usb + "/2-1:1.0/host6/target6:0:0/6:0:0:0",
		}, 500e6},
		"a disk on USB 2": {"sda", usb + "/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sda", map[string]string{
			usb + "/speed": "480",
			usb + "/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sda/device": "->" + usb + "/2-1:1.0/host6/target6:0:0/6:0:0:0",
		}, 60e6},
		"a SAS disk with two links": {"sda", sas + "/end_device-0:0/target0:0:0/0:0:0:0/block/sda", map[string]string{
			sas + "/phy-0:0/sas_phy/phy-0:0/negotiated_linkrate": "12.0 Gbit", sas + "/phy-0:1/sas_phy/phy-0:1/negotiated_linkrate": "6.0 Gbit",
			sas + "/end_device-0:0/target0:0:0/0:0:0:0/block/sda/device": "->" + sas + "/end_device-0:0/target0:0:0/0:0:0:0",
		}, 1800e6},
		"a SAS disk of which one link is not up": {"sda", sas + "/end_device-0:0/target0:0:0/0:0:0:0/block/sda", map[string]string{
			sas + "/phy-0:0/sas_phy/phy-0:0/negotiated_linkrate":         "Unknown",
			sas + "/end_device-0:0/target0:0:0/0:0:0:0/block/sda/device": "->" + sas + "/end_device-0:0/target0:0:0/0:0:0:0",
		}, 0},
		"a LUN of Fibre Channel": {"sda", port + "/host5/rport-5:0-0/target5:0:0/5:0:0:0/block/sda", map[string]string{
			port + "/host5/fc_host/host5/speed":                              "16 Gbit",
			port + "/host5/rport-5:0-0/target5:0:0/5:0:0:0/block/sda/device": "->" + port + "/host5/rport-5:0-0/target5:0:0/5:0:0:0",
		}, 1600e6},
		"a disk behind a SAS adapter": {"sda", port + "/host0/target0:0:0/0:0:0:0/block/sda", map[string]string{
			port + "/max_link_speed": "8.0 GT/s PCIe", port + "/max_link_width": "8",
			port + "/host0/target0:0:0/0:0:0:0/block/sda/device": "->" + port + "/host0/target0:0:0/0:0:0:0",
		}, 0},
	} {
		l := from(t, machine(t, "", map[string]string{c.device: c.dir}, c.files), c.device)
		if got := l[0].LinkBytesPerSecond; got < c.want*0.999 || got > c.want*1.001 {
			t.Errorf("%s: %g bytes/s, want %g", name, got, c.want)
		}
	}
}

func TestMembersOfOneDevice(t *testing.T) {
	const virtual = "sys/devices/virtual/block/"
	devices := map[string]string{"top": virtual + "top", "a": virtual + "a", "b": virtual + "b", "c": virtual + "c"}
	below := map[string]string{virtual + "top/slaves/a": "->" + virtual + "a", virtual + "top/slaves/b": "->" + virtual + "b"}
	for name, c := range map[string]struct {
		files  map[string]string
		word   string
		copies int
		note   string
	}{
		"an old mirror of LVM": {map[string]string{"top/dm/uuid": "LVM-x", "a/dm/name": "vg-lv_mimage_0", "b/dm/name": "vg-lv_mimage_1"}, "lvm", 2, ""},
		"a RAID of LVM":        {map[string]string{"top/dm/uuid": "LVM-x", "a/dm/name": "vg-lv_rimage_0", "b/dm/name": "vg-lv_rmeta_0"}, "lvm", 1, "does not show which RAID"},
		"a mirror of LVM": {map[string]string{
			"top/dm/uuid": "LVM-x", "top/size": "2048", "a/dm/name": "vg-lv_rimage_0", "a/size": "2048", "b/dm/name": "vg-lv_rimage_1", "b/size": "2048",
		}, "lvm", 2, ""},
		"parity of LVM": {map[string]string{
			"top/dm/uuid": "LVM-x", "top/size": "4096", "a/dm/name": "vg-lv_rimage_0", "a/size": "2048", "b/dm/name": "vg-lv_rmeta_0", "b/size": "16",
		}, "lvm", 1, "does not show which RAID"},
		"a stripe of LVM":   {map[string]string{"top/dm/uuid": "LVM-x", "a/dm/name": "vg-lv_rimage_0", "b/dm/name": "vg-lv_rimage_1"}, "lvm", 1, ""},
		"a spare":           {map[string]string{"top/md/level": "raid1", "top/md/raid_disks": "2", "top/md/degraded": "0", "top/md/dev-b/state": "spare"}, "raid1", 2, "b is spare"},
		"a disk is missing": {map[string]string{"top/md/level": "raid1", "top/md/raid_disks": "3", "top/md/degraded": "1", "top/md/dev-b/state": "in_sync"}, "raid1", 2, "1 of its 3 disks are missing"},
		"bcache":            {map[string]string{"top/bcache/cache_mode": "writethrough [writeback] none"}, "mapped", 1, ""},
	} {
		files := map[string]string{}
		for file, content := range c.files {
			files[virtual+file] = content
		}
		maps.Copy(files, below)
		layers := from(t, machine(t, "", devices, files), "top")
		if len(layers) < 3 || layers[0].Type != c.word || result.Copies(layers) != c.copies || (c.note == "") != (layers[0].Note == "") || !strings.Contains(layers[0].Note, c.note) {
			t.Errorf("%s: %+v", name, layers)
		}
	}
	dir := virtual + "bcache0"
	layers := from(t, machine(t, "", map[string]string{"bcache0": dir, "a": virtual + "a"}, map[string]string{
		dir + "/slaves/a": "->" + virtual + "a", dir + "/bcache/cache_mode": "writethrough [writeback] none",
	}), "bcache0")
	if layers[0].Type != "bcache" || !strings.Contains(layers[0].Note, "its mode is writeback") {
		t.Errorf("bcache: %+v", layers)
	}
}

// ids returns the IDs of layers.
func ids(layers []result.Layer) string {
	var out []string
	for _, l := range layers {
		out = append(out, l.ID)
	}
	return strings.Join(out, " ")
}

func TestWhatElseAFileSystemIsOn(t *testing.T) {
	s := machine(t, strings.Join([]string{
		"20 1 250:9 / / rw - ext4 /dev/gone rw",
		"21 20 0:30 / /many rw - bcachefs /dev/x:/dev/nowhere rw",
		"22 20 0:31 / /crypt rw - ecryptfs /plain rw",
		"23 20 0:32 / /btrfs rw - btrfs /dev/x rw",
		"24 20 0:33 / /tank rw - zfs tank rw",
		"25 20 0:34 / /relative rw - overlay o rw,lowerdir=l/A:l/B",
		"no line of a mount table",
		"26 20 0:35 / /wide rw - overlay o rw,upperdir=/plain,lowerdir=" + strings.Repeat("/lower/directory:", 10_000) + "/last",
		"27 20 0:36 / /lvm rw - bcachefs /dev/mapper/my--vg-data rw",
		"28 20 0:37 / /vg rw - bcachefs /dev/my-vg/data rw",
	}, "\n"), map[string]string{"x": "sys/devices/virtual/block/x", "dm-0": "sys/devices/virtual/block/dm-0"}, map[string]string{
		"plain/file": "", "sys/devices/virtual/block/dm-0/dm/name": "my--vg-data",
	})
	for path, want := range map[string]string{
		"/":           "fs:/ 250:9",
		"/many":       "fs:/many x /dev/nowhere",
		"/crypt/file": "fs:/crypt fs:/ 250:9",
		"/btrfs":      "fs:/btrfs x", // sysfs does not show it
		"/tank":       "fs:/tank pool:tank",
		"/relative":   "fs:/relative file:l/A",
		"/wide":       "fs:/wide fs:/ 250:9 file:/lower/directory",
		"/lvm":        "fs:/lvm dm-0",
		"/vg":         "fs:/vg dm-0",
	} {
		layers, err := s.Layers(path)
		if err != nil || ids(layers) != want {
			t.Errorf("%s: %s, want %s (%v)", path, ids(layers), want, err)
			continue
		}
		if path == "/lvm" || path == "/vg" || path == "/crypt/file" {
			continue
		}
		noted := false
		for _, l := range layers {
			noted = noted || l.Note != ""
		}
		if !noted {
			t.Errorf("%s: nothing says what cannot be seen", path)
		}
	}
}

func TestCirclesAndTowersEnd(t *testing.T) {
	const virtual = "sys/devices/virtual/block/"
	s := machine(t, "20 1 250:1 / / rw - ext4 /dev/loop0 rw", map[string]string{"loop0": virtual + "loop0"}, map[string]string{virtual + "loop0/loop/backing_file": "/disk.img", "disk.img": ""})
	layers, err := s.Layers("/")
	if err != nil || ids(layers) != "fs:/ loop0 file:/disk.img" {
		t.Errorf("a file system on itself: %s, %v", ids(layers), err)
	}
	devices, files := map[string]string{}, map[string]string{}
	for i := range 200 {
		name := fmt.Sprintf("dm-%d", i)
		devices[name] = virtual + name
		files[fmt.Sprintf("%s%s/slaves/dm-%d", virtual, name, (i+1)%200)] = fmt.Sprintf("->%sdm-%d", virtual, (i+1)%200)
		files[virtual+name+"/dm/name"] = "x"
	}
	layers = from(t, machine(t, "", devices, files), "dm-0")
	if len(layers) > deepest+1 || !strings.Contains(layers[len(layers)-1].Note, "more layers below") {
		t.Errorf("%d layers, at last %+v", len(layers), layers[len(layers)-1])
	}
	small := map[string]string{"dm-0": virtual + "dm-0", "dm-1": virtual + "dm-1"}
	layers = from(t, machine(t, "", small, map[string]string{virtual + "dm-0/slaves/dm-1": "->" + virtual + "dm-1", virtual + "dm-1/slaves/dm-0": "->" + virtual + "dm-0"}), "dm-0")
	if ids(layers) != "dm-0 dm-1" || !strings.Contains(layers[1].Note, "both above and below") {
		t.Errorf("a circle: %+v", layers)
	}
}

func TestLinesOfZpoolStatus(t *testing.T) {
	const status = `  pool: tank
 state: DEGRADED
status: One or more devices could not be used because the label is missing or
	invalid.
config:

	NAME                     STATE     READ WRITE CKSUM
	tank                     DEGRADED     0     0     0
	  mirror-0               DEGRADED     0     0     0
	    /dev/sda1            ONLINE       0     0     0
	    replacing-1          DEGRADED     0     0     0
	      1234567890         UNAVAIL      0     0     0  was /dev/sdb1
	      /dev/sdc1          ONLINE       0     0     0  (resilvering)
	  /dev/sdd1              ONLINE       0     0     0
	logs
	  mirror-2               ONLINE       0     0     0
	    /dev/nvme0n1p1       ONLINE       0     0     0
	    /dev/nvme1n1p1       ONLINE       0     0     0
	spares
	  /dev/sde1              AVAIL

errors: No known data errors
`
	s := tree(t, map[string]string{"proc/self/mountinfo": "20 1 0:40 / / rw - zfs tank/data rw"})
	s.Pool = func(string) (string, error) { return status, nil }
	layers, err := s.Layers("/")
	want := "fs:/ pool:tank pool:tank/mirror-0 file:/dev/sda1 pool:tank/mirror-0/replacing-1 pool:tank/mirror-0/replacing-1/1234567890 file:/dev/sdc1 " +
		"file:/dev/sdd1 pool:tank/logs pool:tank/logs/mirror-2 file:/dev/nvme0n1p1 file:/dev/nvme1n1p1 pool:tank/spares file:/dev/sde1"
	if err != nil || ids(layers) != want {
		t.Errorf("got  %s\nwant %s\n%v", ids(layers), want, err)
	}
}
