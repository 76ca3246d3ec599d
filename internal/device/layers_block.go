package device

import (
	"cmp"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// block adds the block device with a directory of sysfs, and what is below it. It judges by
// what sysfs and the driver say, because devices can have any name.
func (st *stack) block(dir string) (id string) {
	l := st.describe(dir)
	is := func(attribute string) bool { return exists(filepath.Join(dir, attribute)) }
	driver := st.driver(l)
	var follow func(at int)
	switch {
	case is("partition"):
		l.Kind, l.Type = result.MappedLayer, "partition"
		follow = func(at int) { st.device(at, filepath.Dir(dir)) }
	case is("dm"):
		l.Kind, l.Type, l.Source = result.MappedLayer, mapperType(attribute(dir, "dm/uuid")), attribute(dir, "dm/name")
		follow = func(at int) { st.mapper(at, dir) }
	case is("md"):
		l.Kind, l.Type = result.MappedLayer, cmp.Or(attribute(dir, "md/level"), "md")
		follow = func(at int) { st.raid(at, dir) }
	case is("loop") || driver == "loop":
		l.Kind, l.Type, l.Source = result.LoopLayer, "loop", untrimmed(dir, "loop/backing_file")
		l.DirectIO = flag(dir, "loop/dio")
		if attribute(dir, "ro") != "1" {
			l.DeviceCache = "write back" // the kernel syncs its file whenever it is flushed
		}
		follow = func(at int) { st.loop(at) }
	case driver == "zvol":
		l.Kind, l.Type = result.MappedLayer, "zvol"
		follow = func(at int) { st.zvol(at) }
	case len(nvmeControllers(dir)) > 0:
		l.Kind, l.Type = result.MappedLayer, "nvme-multipath"
		follow = func(at int) { st.nvmePaths(at, dir) }
	case len(slaves(dir)) > 0: // bcache, drbd
		l.Kind, l.Type = result.MappedLayer, cmp.Or(driver, "mapped")
		follow = func(at int) { st.mapped(at, dir) }
	case slices.Contains([]string{"zram", "brd", "null_blk"}, driver):
		l.Kind, l.Type, l.InMemory = result.MemoryLayer, driver, true
		if disk := attribute(dir, "backing_dev"); driver == "zram" && disk != "" && disk != "none" {
			l.Note = "it can move what is idle or does not compress to " + disk
		}
	case driver == "ublk":
		l.Kind, l.Type = result.UnknownLayer, driver
		l.Note = "a program of this machine serves this device: where it keeps the data cannot be seen from here"
	default:
		l.Kind, l.Type, l.Note = disk(dir, driver)
		if l.Type == "nvme" && l.FUA != nil && *l.FUA && l.DeviceCache == "" {
			l.DeviceCache = "write back" // it offers FUA if it has a volatile cache, and only then
		}
	}
	return st.add(l, follow)
}

// describe reads what a block device can do. It leaves out what it cannot read.
func (st *stack) describe(dir string) result.Layer {
	d := describe(dir)
	l := result.Layer{
		ID: d.Name, Number: attribute(dir, "dev"), Model: modelOf(d.Model), SizeBytes: d.SizeBytes,
		WriteCache: d.Queue["write_cache"], DeviceCache: deviceCache(dir, d.Queue["cache_type"]),
		FUA: flag(dir, "queue/fua"), Rotational: flag(dir, "queue/rotational"), TurnsPerMinute: turns(dir), IOStats: counts(dir, d.Queue["iostats"]),
		LinkBytesPerSecond: link(dir),
	}
	l.DiskSeq, _ = strconv.ParseUint(attribute(dir, "diskseq"), 10, 64) // 0 if there is none
	if n, err := strconv.ParseUint(d.Queue["discard_max_bytes"], 10, 64); err == nil {
		l.DiscardMaxBytes = &n
	}
	return l
}

// turns returns how often a disk says it turns in a minute: on page B1 of its vital product data, which the
// kernel shows since Linux 5.18 and makes up of what a SATA disk says; 0: it does not say, or does not turn.
func turns(dir string) int {
	page, err := os.ReadFile(filepath.Join(dir, "device/vpd_pgb1"))
	if err != nil || len(page) < 6 {
		return 0
	}
	rate := int(binary.BigEndian.Uint16(page[4:]))
	if rate <= 0x400 || rate == 0xffff { // 0: unknown, 1: none; the others are reserved
		return 0
	}
	return rate
}

// counts reports whether the kernel counts a device's I/O. zram counts it itself, whatever the queue says.
func counts(dir, iostats string) bool { return iostats == "1" || exists(filepath.Join(dir, "mm_stat")) }

// modelOf returns a model. Of a virtio disk sysfs has a number.
func modelOf(model string) string {
	if strings.HasPrefix(model, "0x") {
		return ""
	}
	return model
}

// deviceCache returns what a disk itself says of its cache.
func deviceCache(dir, scsi string) string {
	said := cmp.Or(scsi, attribute(dir, "cache_type")) // the latter of virtio
	switch {
	case strings.HasPrefix(said, "write back"):
		return "write back"
	case said == "none" || strings.HasPrefix(said, "write through"):
		return "write through"
	default:
		return ""
	}
}

// mapped follows the slaves of a device, and returns their directories.
func (st *stack) mapped(at int, dir string) []string {
	below := slaves(dir)
	for _, slave := range below {
		if real, err := filepath.EvalSymlinks(slave); err == nil {
			st.device(at, real)
		} else {
			st.named(at, filepath.Base(slave))
		}
	}
	if len(below) == 0 {
		st.note(at, "sysfs shows no device below %s", st.layers[at].ID)
	}
	switch l := st.layers[at]; l.Type {
	case "drbd":
		st.note(at, "it also keeps copies on other machines, whose disks cannot be seen from here")
	case "bcache":
		st.note(at, "one of the devices below is a cache of the other; its mode is %s", chosen(attribute(dir, "bcache/cache_mode")))
	}
	return below
}

// chosen returns the value in brackets of a list such as "writethrough [writeback] none".
func chosen(list string) string {
	if _, rest, ok := strings.Cut(list, "["); ok {
		value, _, _ := strings.Cut(rest, "]")
		return value
	}
	return cmp.Or(list, "unknown")
}

// mapperType returns what a device of the device mapper is, which the beginning of its UUID
// tells.
func mapperType(uuid string) string {
	prefix, _, _ := strings.Cut(uuid, "-")
	switch {
	case prefix == "LVM":
		return "lvm"
	case prefix == "CRYPT":
		return "crypt"
	case prefix == "mpath":
		return "multipath"
	case strings.HasPrefix(prefix, "part"):
		return "partition"
	default:
		return "dm"
	}
}

// mapper follows a device of the device mapper.
func (st *stack) mapper(at int, dir string) {
	images, logs, whole, size := 0, 0, 0, attribute(dir, "size")
	for _, slave := range st.mapped(at, dir) {
		name := attribute(slave, "dm/name")
		switch {
		case strings.Contains(name, "_mimage_"):
			st.layers[at].Copies++
		case strings.Contains(name, "_rimage_"):
			images++
			if size != "" && attribute(slave, "size") == size {
				whole++
			}
		case strings.Contains(name, "_rmeta_"):
			logs++
		}
	}
	switch {
	case images > 1 && whole == images: // each has all of the data: raid1
		st.layers[at].Copies = images
	case images > 0 && logs > 0:
		st.note(at, "LVM writes with redundancy to %d images; sysfs does not show which RAID it is", images)
	}
}

// raid follows a device of md.
func (st *stack) raid(at int, dir string) {
	st.mapped(at, dir)
	disks, _ := strconv.Atoi(attribute(dir, "md/raid_disks"))
	missing, _ := strconv.Atoi(attribute(dir, "md/degraded"))
	switch attribute(dir, "md/level") {
	case "raid1":
		st.layers[at].Copies = max(1, disks-missing)
	case "raid10":
		// The layout holds the near copies in its lowest byte and the far ones in the next.
		layout, _ := strconv.Atoi(attribute(dir, "md/layout"))
		st.layers[at].Copies = max(1, layout&0xff) * max(1, layout>>8&0xff)
	}
	if missing > 0 {
		st.note(at, "%d of its %d disks are missing", missing, disks)
	}
	members, _ := filepath.Glob(filepath.Join(dir, "md/dev-*/state"))
	for _, member := range members {
		state := strings.Split(attribute(member, ""), ",")
		for _, special := range []string{"spare", "faulty", "journal"} {
			if slices.Contains(state, special) {
				st.note(at, "%s is %s", strings.TrimPrefix(filepath.Base(filepath.Dir(member)), "dev-"), special)
			}
		}
	}
}

// slaves returns the links to the devices that a device is made of.
func slaves(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, "slaves"))
	if err != nil {
		return nil // a device without slaves may have no directory for them
	}
	var out []string
	for _, entry := range entries {
		out = append(out, filepath.Join(dir, "slaves", entry.Name()))
	}
	return out
}

// flag reads an attribute that is 0 or 1; nil: it is not there.
func flag(dir, name string) *bool {
	switch attribute(dir, name) {
	case "0":
		return new(false)
	case "1":
		return new(true)
	default:
		return nil
	}
}

// untrimmed reads an attribute whose value may begin or end with blanks.
func untrimmed(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// numberOf returns the number of a block device that has a name in /dev, or in sysfs if /dev
// does not show it, as in a container.
func (s System) numberOf(name string) (number string, ok bool) {
	if number, ok := s.deviceAt(name); ok {
		return number, true
	}
	short := strings.TrimPrefix(name, "/dev/")
	if number := attribute(s.path("sys/class/block", strings.ReplaceAll(short, "/", "!")), "dev"); number != "" {
		return number, true
	}
	mapper := strings.TrimPrefix(short, "mapper/")
	if group, volume, ok := strings.Cut(mapper, "/"); ok { // /dev/GROUP/VOLUME of LVM
		double := strings.NewReplacer("-", "--")
		mapper = double.Replace(group) + "-" + double.Replace(volume)
	}
	files, _ := filepath.Glob(s.path("sys/class/block/*/dm/name"))
	for _, file := range files {
		if attribute(file, "") == mapper {
			number := attribute(filepath.Dir(filepath.Dir(file)), "dev")
			return number, number != ""
		}
	}
	return "", false
}
