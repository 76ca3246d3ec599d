package device

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// drivers returns the names of the drivers of block devices by their major numbers.
func (s System) drivers() map[string]string {
	out := map[string]string{}
	table, err := os.ReadFile(s.path("proc/devices"))
	if err != nil {
		return out // then names tell
	}
	_, blocks, _ := strings.Cut(string(table), "Block devices:")
	for line := range strings.Lines(blocks) {
		if fields := strings.Fields(line); len(fields) == 2 {
			out[fields[0]] = fields[1]
		}
	}
	return out
}

// registered are our words for the names under which drivers are registered.
var registered = map[string]string{
	"ramdisk": "brd", "zram": "zram", "nullb": "null_blk", "loop": "loop", "nbd": "nbd", "rbd": "rbd", "drbd": "drbd",
	"zvol": "zvol", "virtblk": "virtio", "bcache": "bcache", "sd": "sd", "mmc": "mmc", "xvd": "xen", "dasd": "dasd", "sr": "cdrom",
}

// numbered are our words for the names of devices that are followed by a number.
var numbered = map[string]string{
	"ram": "brd", "zram": "zram", "nullb": "null_blk", "loop": "loop", "nbd": "nbd", "rbd": "rbd", "drbd": "drbd",
	"zd": "zvol", "bcache": "bcache", "mmcblk": "mmc", "pmem": "pmem", "ublkb": "ublk", "sr": "cdrom",
}

var (
	lettered = regexp.MustCompile(`^(sd|vd|xvd|dasd)[a-z]+$`)
	nvmeName = regexp.MustCompile(`^nvme(\d+)n(\d+)$`)
	nvmePath = regexp.MustCompile(`^nvme\d+c\d+n\d+$`)
)

// driver returns what drives a device: by its major number if a driver has it to itself, else
// by its name.
func (st *stack) driver(l result.Layer) string {
	major, _, _ := strings.Cut(l.Number, ":")
	if word := registered[st.drivers[major]]; word != "" {
		return word
	}
	if word := numbered[strings.TrimRight(l.ID, "0123456789")]; word != "" && strings.TrimRight(l.ID, "0123456789") != l.ID {
		return word
	}
	if m := lettered.FindStringSubmatch(l.ID); m != nil {
		return map[string]string{"sd": "sd", "vd": "virtio", "xvd": "xen", "dasd": "dasd"}[m[1]]
	}
	if nvmeName.MatchString(l.ID) || nvmePath.MatchString(l.ID) {
		return "nvme"
	}
	return ""
}

const (
	elsewhere = "its disks and caches are on another machine and cannot be seen from here"
	virtual   = "the disk of a virtual machine: what it is made of, and which caches its host has, cannot be seen from here"
	volume    = "a volume of a RAID controller: its disks and the controller's cache cannot be seen from here"
)

// disk returns what a device is that nothing visible is below.
func disk(dir, driver string) (kind result.LayerKind, word, note string) {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "device"))
	if err != nil {
		real = ""
	}
	if transport := attribute(dir, "device/transport"); transport != "" && (driver == "nvme" || driver == "") {
		return nvme(transport, attribute(dir, "device/model"))
	}
	through := func(part string) bool { return strings.Contains(real+"/", part) || strings.Contains(dir, part) }
	switch {
	case driver == "rbd" || driver == "nbd" || driver == "drbd":
		return result.RemoteLayer, driver, elsewhere
	case through("/session"):
		return result.RemoteLayer, "iscsi", elsewhere
	case through("/rport-"):
		return result.DiskLayer, "fc", "behind a Fibre Channel network: the array with its disks and caches cannot be seen from here"
	case driver == "virtio":
		return result.DiskLayer, driver, virtual
	case through("/virtio"):
		return result.DiskLayer, "virtio-scsi", virtual
	case driver == "xen":
		return result.DiskLayer, driver, virtual
	case through("/usb"):
		return result.DiskLayer, "usb", ""
	case through("/ata"):
		return result.DiskLayer, "sata", cmp.Or(ofVirtualMachine(dir), ofController(dir))
	case through("/end_device-"):
		return result.DiskLayer, "sas", ""
	case driver == "sd":
		return result.DiskLayer, "scsi", ofVirtualMachine(dir)
	case driver == "pmem":
		return result.DiskLayer, driver, "persistent memory, or memory that the kernel was told to take for it (memmap=)"
	default:
		return result.DiskLayer, cmp.Or(driver, "disk"), ""
	}
}

// ofVirtualMachine returns a note if a disk's vendor is a maker of virtual machines.
func ofVirtualMachine(dir string) string {
	vendor := attribute(dir, "device/vendor") + " " + attribute(dir, "device/model")
	for _, maker := range []string{"QEMU", "VMware", "VBOX", "Msft", "Google", "BHYVE", "Virtual", "VIRTUAL"} {
		if strings.Contains(vendor, maker) {
			return virtual
		}
	}
	return ""
}

// ofController returns a note if a SATA disk is one that a controller makes of several.
func ofController(dir string) string {
	model := strings.ToUpper(attribute(dir, "device/model"))
	if strings.Contains(model, "RAID") || strings.HasPrefix(model, "DELLBOSS") {
		return volume
	}
	return ""
}

// nvme returns what a namespace is that is reached by a transport.
func nvme(transport, model string) (kind result.LayerKind, word, note string) {
	switch {
	case transport == "loop":
		return result.UnknownLayer, "nvme-loop", "a target of this machine serves this device: what is below that cannot be seen from here"
	case transport != "pcie":
		return result.RemoteLayer, "nvme-" + transport, elsewhere
	case model == "Amazon Elastic Block Store":
		return result.DiskLayer, "nvme", "a volume of Amazon EBS: " + elsewhere
	case strings.HasPrefix(model, "nvme_card") || strings.HasPrefix(model, "QEMU") || strings.HasPrefix(model, "Microsoft NVMe Direct"):
		return result.DiskLayer, "nvme", virtual
	default:
		return result.DiskLayer, "nvme", ""
	}
}

// nvmeControllers returns the controllers of a namespace with several paths. A namespace that
// one controller has to itself is below that, and not below a subsystem.
func nvmeControllers(dir string) []string {
	if !nvmeName.MatchString(filepath.Base(dir)) {
		return nil
	}
	subsystem, err := filepath.EvalSymlinks(filepath.Join(dir, "device"))
	if err != nil || exists(filepath.Join(subsystem, "transport")) {
		return nil
	}
	transports, _ := filepath.Glob(filepath.Join(subsystem, "nvme*/transport"))
	for i := range transports {
		transports[i] = filepath.Dir(transports[i])
	}
	return transports
}

// nvmePaths follows the paths to a namespace.
func (st *stack) nvmePaths(at int, dir string) {
	m := nvmeName.FindStringSubmatch(filepath.Base(dir))
	for _, controller := range nvmeControllers(dir) {
		real, err := filepath.EvalSymlinks(controller)
		if err != nil {
			continue
		}
		paths, _ := filepath.Glob(filepath.Join(real, fmt.Sprintf("nvme%sc*n%s", m[1], m[2])))
		for _, path := range paths {
			st.device(at, path)
		}
	}
	if len(st.layers[at].Below) == 0 {
		st.note(at, "sysfs shows no path to this namespace")
	}
}

// remote returns the protocol of a disk that is on another machine, or "".
func remote(name, dir string) string {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "device"))
	transports := []string{attribute(dir, "device/transport")}
	for _, controller := range nvmeControllers(dir) {
		transports = append(transports, attribute(controller, "transport"))
	}
	switch {
	case strings.HasPrefix(name, "rbd"):
		return "a Ceph RBD"
	case strings.HasPrefix(name, "nbd"):
		return "a network block device"
	case strings.HasPrefix(name, "drbd"):
		return "a DRBD"
	case err == nil && strings.Contains(real, "/session"):
		return "an iSCSI disk"
	case !strings.HasPrefix(name, "nvme"):
		return ""
	}
	for _, transport := range transports {
		if transport != "" && transport != "pcie" {
			return "NVMe over " + transport
		}
	}
	return ""
}
