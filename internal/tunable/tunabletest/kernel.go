package tunabletest

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"storagebench.io/storagebench/internal/tunable"
)

// Kernel is a simulated machine. It is not safe for concurrent use.
type Kernel struct {
	// Refuse, if set, is called before each write; the write fails with its
	// error.
	Refuse func(name string) error

	boots   int
	diskSeq int
	objects uint64
	disks   map[string]*disk
	node    map[string]string // vm settings and module parameters, by path
	arcMin  string
	arcMax  string
	zfs     map[string]*dataset
	hdparm  bool
	now     time.Duration // since the boot
	rescans []rescan
}

type disk struct {
	name, number, seq, wwid, backing, offset string
	object                                   uint64            // Identity of the kernel's object until the next boot
	attributes                               map[string]string // like queue/scheduler
	// drive is whether the drive's own cache is on; the kernel's view of it is an
	// attribute.
	drive bool
	// override is whether "temporary" has set the view, which the kernel does not change by itself then.
	override bool
}

var _ tunable.Files = (*Kernel)(nil)

// New returns a machine without disks that has just booted.
func New() *Kernel {
	k := &Kernel{disks: map[string]*disk{}, zfs: map[string]*dataset{}}
	k.boot()
	return k
}

// Host of the machine.
func (k *Kernel) Host() tunable.Host {
	return tunable.Host{Files: k, Run: k.run, Wait: k.wait}
}

// Paths of the simulated settings.
const (
	vm         = "/proc/sys/vm/"
	parameters = "/sys/module/zfs/parameters/"
	arcstats   = "/proc/spl/kstat/zfs/arcstats"
	bootID     = "/proc/sys/kernel/random/boot_id"
	block      = "/sys/block/"
	autoMax    = "2147483648"
	autoMin    = "134217728"
)

func (k *Kernel) boot() {
	k.boots++
	k.now, k.rescans = 0, nil
	k.node = map[string]string{
		vm + "dirty_background_ratio": "10", vm + "dirty_background_bytes": "0",
		vm + "dirty_ratio": "20", vm + "dirty_bytes": "0",
		vm + "dirty_expire_centisecs": "3000", vm + "dirty_writeback_centisecs": "500", vm + "vfs_cache_pressure": "100",
		parameters + "zfs_nocacheflush": "0", parameters + "zfs_txg_timeout": "5",
		parameters + "zfs_arc_max": "0", parameters + "zfs_arc_min": "0", parameters + "zfs_vdev_max_active": "1000",
	}
	k.arcMin, k.arcMax = autoMin, autoMax
}

// Attach adds a disk. One without a WWID cannot be recognised after a reboot.
func (k *Kernel) Attach(name, number, wwid string) {
	k.diskSeq++
	d := &disk{name: name, number: number, wwid: wwid, drive: true}
	k.disks[name] = d
	k.start(d)
}

// Page80 gives a disk the page of its vital product data that has its serial number.
func (k *Kernel) Page80(name, page string) { k.disks[name].attributes["device/vpd_pg80"] = page }

// Loop adds a loop device on a file.
func (k *Kernel) Loop(name, number, backing string) {
	k.Attach(name, number, "")
	k.disks[name].backing = backing
}

// start gives a disk the settings of one that the kernel has just found.
func (k *Kernel) start(d *disk) {
	k.diskSeq++
	k.objects++
	d.object, d.override = k.objects, false
	k.rescans = slices.DeleteFunc(k.rescans, func(r rescan) bool { return r.disk == d })
	d.seq = strconv.Itoa(k.diskSeq)
	d.attributes = map[string]string{
		"queue/scheduler": "none", "queue/nr_requests": "128", "queue/read_ahead_kb": "2560", "queue/write_cache": "write back",
		"queue/nomerges": "0", "queue/rq_affinity": "1", "queue/wbt_lat_usec": "2000", "queue/max_sectors_kb": "1280",
	}
	if strings.HasPrefix(d.name, "sd") {
		d.attributes["device/queue_depth"] = "32"
		d.attributes["device/vendor"] = "ATA     "
		d.attributes["device/scsi_disk/0:0:0:0/cache_type"] = "write back"
		if !d.drive {
			d.setView("write through")
		}
	}
}

func (d *disk) setView(cacheType string) {
	d.attributes["device/scsi_disk/0:0:0:0/cache_type"] = cacheType
	d.attributes["queue/write_cache"] = "write through"
	if cacheType == "write back" {
		d.attributes["queue/write_cache"] = "write back"
	}
	d.limits()
}

// limits resets read-ahead, as the kernel does when the queue's limits change.
func (d *disk) limits() {
	if n, err := strconv.Atoi(d.attributes["queue/max_sectors_kb"]); err == nil {
		d.attributes["queue/read_ahead_kb"] = strconv.Itoa(2 * n)
	}
}

// Shallow gives a disk so few requests, as the kernel does to one that takes no more at a time.
func (k *Kernel) Shallow(name, requests string) {
	k.disks[name].attributes["queue/nr_requests"] = requests
}

// QueueFull lowers a SCSI disk's queue_depth, as the kernel does when the disk says that its queue is full.
func (k *Kernel) QueueFull(name, depth string) {
	k.disks[name].attributes["device/queue_depth"] = depth
}

// Detach removes a disk.
func (k *Kernel) Detach(name string) { delete(k.disks, name) }

// Reattach takes a disk away and brings it back: the drive keeps its cache's setting, the kernel's object is new.
func (k *Kernel) Reattach(name string) { k.start(k.disks[name]) }

// Eject detaches the file of a loop device, which keeps the settings of its queue.
func (k *Kernel) Eject(name string) {
	k.diskSeq++
	k.disks[name].seq, k.disks[name].backing = strconv.Itoa(k.diskSeq), ""
}

// Insert attaches a file to a loop device, which still has the settings of its
// queue.
func (k *Kernel) Insert(name, backing string) {
	k.diskSeq++
	k.disks[name].seq, k.disks[name].backing = strconv.Itoa(k.diskSeq), backing
}

// Identity of a disk's directory.
func (k *Kernel) Identity(name string) (uint64, error) {
	if d, rest := k.disk(name); d != nil && rest == "" {
		return d.object, nil
	}
	return 0, missing(name)
}

// Reboot reboots the machine. It loses volatile settings, and renames disks as
// names says, from old to new.
func (k *Kernel) Reboot(names map[string]string) {
	k.boot()
	old := k.disks
	k.disks = map[string]*disk{}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		d := old[name]
		to := name
		if names[name] != "" {
			to = names[name]
		}
		d.name, d.number = to, old[to].number // a device's number follows its name
		k.disks[to] = d
	}
	for _, name := range slices.Sorted(maps.Keys(k.disks)) {
		k.start(k.disks[name])
	}
}

// Unload removes the zfs module.
func (k *Kernel) Unload() {
	maps.DeleteFunc(k.node, func(name, _ string) bool { return strings.HasPrefix(name, parameters) })
}

// Set writes a file as an administrator would. It panics if the kernel refuses.
func (k *Kernel) Set(name, value string) {
	refuse := k.Refuse
	k.Refuse = nil
	if err := k.WriteFile(name, []byte(value)); err != nil {
		panic(err)
	}
	k.Refuse = refuse
}

// Get reads a file.
func (k *Kernel) Get(name string) string {
	b, err := k.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(b))
}

func missing(name string) error { return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist} }

// ReadFile reads a file as the kernel shows it.
func (k *Kernel) ReadFile(name string) ([]byte, error) {
	switch name {
	case bootID:
		return fmt.Appendf(nil, "boot-%d\n", k.boots), nil
	case arcstats:
		return fmt.Appendf(nil, "9 1 0x01 147 39984 3 4\nname type data\nc 4 1\nc_min 4 %s\nc_max 4 %s\n", k.arcMin, k.arcMax), nil
	}
	if v, ok := k.node[name]; ok {
		return []byte(v + "\n"), nil
	}
	d, attribute := k.disk(name)
	if d == nil {
		return nil, missing(name)
	}
	v, ok := d.attributes[attribute]
	switch attribute {
	case "dev":
		v, ok = d.number, true
	case "diskseq":
		v, ok = d.seq, true
	case "wwid":
		v, ok = d.wwid, d.wwid != ""
	case "loop/backing_file":
		v, ok = d.backing, d.backing != ""
	case "loop/offset":
		v, ok = d.offset, d.offset != ""
	case "queue/scheduler":
		v = strings.Replace("none mq-deadline kyber bfq ", v+" ", "["+v+"] ", 1)
	}
	if !ok {
		return nil, missing(name)
	}
	return []byte(v + "\n"), nil
}

func (k *Kernel) disk(path string) (*disk, string) {
	rest, ok := strings.CutPrefix(path, block)
	if !ok {
		return nil, ""
	}
	name, attribute, _ := strings.Cut(rest, "/")
	return k.disks[name], attribute
}

// ReadDir lists those directories that the package tunable reads.
func (k *Kernel) ReadDir(name string) ([]string, error) {
	switch name + "/" {
	case block:
		return slices.Sorted(maps.Keys(k.disks)), nil
	case parameters:
		if _, ok := k.node[parameters+"zfs_nocacheflush"]; ok {
			return []string{"zfs_nocacheflush"}, nil
		}
	default:
		d, dir := k.disk(name)
		if d != nil && dir == "device/scsi_disk" && d.attributes["device/scsi_disk/0:0:0:0/cache_type"] != "" {
			return []string{"0:0:0:0"}, nil
		}
		if d != nil && dir == "queue/iosched" {
			return d.ofScheduler(), nil
		}
	}
	return nil, missing(name)
}

func invalid(name string) error {
	return &fs.PathError{Op: "write", Path: name, Err: syscall.EINVAL}
}
