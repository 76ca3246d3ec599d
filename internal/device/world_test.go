package device

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// A world is a made-up machine: sysfs, procfs and mounts, from the disks up. Whoever makes a
// layer of it knows what it is, and so what Layers must find.
type world struct {
	t      *testing.T
	root   string
	random *rand.Rand
	nodes  map[string]*node
	mounts []string
	pools  map[string]string
	count  int
	// places are mount points, with the ID of the mount that is visible there.
	places map[string]int
}

// node is a layer as it truly is.
type node struct {
	result.Layer

	dir string
	// partitionable reports whether the device can have partitions.
	partitionable bool
	below         []*node
	// total is how many copies of each block the disks below write.
	total float64
	// direct is what becomes of direct I/O, below no loop device and below one.
	direct [2]result.DirectMode
	// noted reports that there must be a note.
	noted bool
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{
		t: t, root: t.TempDir(), random: rand.New(rand.NewPCG(seed, 1)),
		nodes: map[string]*node{}, pools: map[string]string{}, places: map[string]int{},
	}
	w.write("proc/devices", "Character devices:\n  1 mem\n\nBlock devices:\n  7 loop\n  8 sd\n  1 ramdisk\n  9 md\n250 nullb\n251 zram\n252 device-mapper\n253 rbd\n254 virtblk\n259 blkext\n")
	w.filesystemOn("/", "ext4", w.partition(w.disk("sd")))
	for range 3 + w.random.IntN(12) {
		w.grow()
	}
	w.random.Shuffle(len(w.mounts), func(i, j int) { w.mounts[i], w.mounts[j] = w.mounts[j], w.mounts[i] })
	w.write("proc/self/mountinfo", strings.Join(w.mounts, "\n")+"\n")
	return w
}

func (w *world) system() System {
	return System{Root: w.root, Pool: func(pool string) (string, error) {
		if status, ok := w.pools[pool]; ok {
			return status, nil
		}
		return "", fmt.Errorf("no such pool: %s", pool)
	}}
}

func (w *world) chance(percent int) bool { return w.random.IntN(100) < percent }

func pick[T any](w *world, of ...T) T { return of[w.random.IntN(len(of))] }

func (w *world) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) mkdir(name string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Join(w.root, name), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) symlink(name, target string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(name))
	if err := os.Symlink(filepath.Join(w.root, target), filepath.Join(w.root, name)); err != nil {
		w.t.Fatal(err)
	}
}

// know records a layer, with what follows from those below it.
func (w *world) know(n *node, below ...*node) *node {
	n.below, n.direct = below, [2]result.DirectMode{result.Direct, result.Direct}
	data := below
	if n.Type == "overlay" && strings.Contains(n.Options, "upperdir=") {
		data = below[:1]
	}
	if n.Type == "ext4" && len(below) > 1 {
		data = below[:1] // not its journal
	}
	n.total = 0
	allMemory := len(data) > 0
	for _, b := range below {
		if !slices.Contains(n.Below, b.ID) {
			n.Below = append(n.Below, b.ID)
		}
	}
	for _, b := range data {
		n.total += b.total / float64(len(data)) * float64(max(1, n.Copies))
		allMemory = allMemory && b.InMemory
		for i := range n.direct {
			n.direct[i] = worse(n.direct[i], b.direct[i])
		}
	}
	if len(data) == 0 {
		n.total = 1
	}
	n.InMemory = n.InMemory || allMemory
	w.nodes[n.ID] = n
	return n
}

func worse(a, b result.DirectMode) result.DirectMode {
	order := []result.DirectMode{result.Direct, result.DirectUnknown, result.CachedAnyway}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// device writes the directory of a block device to sysfs, and leaves out some of it.
func (w *world) device(name, parent string, major int, files map[string]string) *node {
	w.count++
	number := fmt.Sprintf("%d:%d", major, w.count)
	n := &node{dir: filepath.Join(parent, name), Layer: result.Layer{ID: name, Number: number, SizeBytes: uint64(w.count) << 9}}
	all := map[string]string{"dev": number, "size": fmt.Sprint(w.count)}
	maps.Copy(all, files)
	if parent := filepath.Dir(n.dir); !strings.Contains(files["partition"]+parent, "partition") && files["partition"] == "" {
		if w.chance(70) {
			n.WriteCache = pick(w, "write back", "write through")
			all["queue/write_cache"] = n.WriteCache
		}
		if w.chance(70) {
			n.FUA = new(w.chance(50))
			all["queue/fua"] = bit(*n.FUA)
		}
		if w.chance(70) {
			n.DiscardMaxBytes = new(uint64(w.random.IntN(2)) << 30)
			all["queue/discard_max_bytes"] = fmt.Sprint(*n.DiscardMaxBytes)
		}
		if w.chance(70) {
			n.IOStats = w.chance(80)
			all["queue/iostats"] = bit(n.IOStats)
		}
	}
	for file, content := range all {
		w.write(filepath.Join(n.dir, file), content+"\n")
	}
	w.symlink("sys/dev/block/"+number, n.dir)
	w.symlink("sys/class/block/"+name, n.dir)
	return n
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// name returns a name with a number that no other has.
func (w *world) name(prefix string) string { w.count++; return fmt.Sprintf("%s%d", prefix, w.count) }

// letters is a name like sda or vdbc.
func (w *world) letters(prefix string) string {
	w.count++
	out := ""
	for n := w.count; n > 0; n = (n - 1) / 26 {
		out = string(rune('a'+(n-1)%26)) + out
	}
	return prefix + out
}

var diskKinds = []string{"sd", "virtio", "nvme", "zram", "brd", "null_blk", "iscsi", "rbd", "nvme-tcp", "multipath"}

// disk makes a device that no block device of this machine is below.
func (w *world) disk(kind string) *node {
	var n *node
	pci := fmt.Sprintf("sys/devices/pci0000:00/0000:00:%02x.0", w.count)
	switch kind {
	case "sd":
		name := w.letters("sd")
		scsi := pci + "/ata1/host0/target0:0:0/0:0:0:0"
		n = w.device(name, scsi+"/block", 8, map[string]string{"device/model": "SPIN"})
		n.Kind, n.Type, n.Model = result.DiskLayer, "scsi", "SPIN"
		if w.chance(50) {
			n.DeviceCache = pick(w, "write back", "write through")
			w.write(n.dir+"/device/scsi_disk/0:0:0:0/cache_type", n.DeviceCache+"\n")
		}
		n.Type = "sata" // its directory is below a port of SATA
	case "virtio":
		n = w.device(w.letters("vd"), pci+"/virtio1/block", 254, map[string]string{"cache_type": "write back"})
		n.Kind, n.Type, n.DeviceCache, n.noted = result.DiskLayer, "virtio", "write back", true
	case "nvme", "nvme-tcp":
		transport := map[string]string{"nvme": "pcie", "nvme-tcp": "tcp"}[kind]
		w.count++
		controller := fmt.Sprintf("%s/nvme/nvme%d", pci, w.count)
		w.write(controller+"/transport", transport+"\n")
		n = w.device(fmt.Sprintf("nvme%dn1", w.count), controller, 259, nil)
		w.symlink(n.dir+"/device", controller)
		n.Kind, n.Type = result.DiskLayer, "nvme"
		switch {
		case kind == "nvme-tcp":
			n.Kind, n.Type, n.noted = result.RemoteLayer, kind, true
		case n.FUA != nil && *n.FUA:
			n.DeviceCache = "write back"
		}
	case "zram":
		n = w.memory(w.device(w.name("zram"), "sys/devices/virtual/block", 251, map[string]string{"disksize": "1"}), kind)
	case "brd":
		n = w.memory(w.device(w.name("ram"), "sys/devices/virtual/block", pick(w, 1, 259), nil), kind)
	case "null_blk": // its name is whatever somebody called it
		n = w.memory(w.device(w.name(pick(w, "scratch", "sda-", "nvme0n")), "sys/devices/virtual/block", 250, nil), kind)
	case "iscsi":
		n = w.device(w.letters("sd"), "sys/devices/platform/host3/session1/target3:0:0/3:0:0:0/block", 8, nil)
		n.Kind, n.Type, n.noted = result.RemoteLayer, kind, true
	case "rbd":
		n = w.device(w.name("rbd"), "sys/devices/rbd/0/block", 253, nil)
		n.Kind, n.Type, n.noted = result.RemoteLayer, kind, true
	case "multipath":
		return w.multipath(pci)
	}
	n.partitionable = true
	return w.know(n)
}

func (w *world) memory(n *node, kind string) *node {
	n.Kind, n.Type, n.InMemory = result.MemoryLayer, kind, true
	return n
}

// multipath makes a namespace of NVMe that several controllers reach.
func (w *world) multipath(pci string) *node {
	w.count++
	instance := w.count
	subsystem := fmt.Sprintf("sys/devices/virtual/nvme-subsystem/nvme-subsys%d", instance)
	var paths []*node
	for i := range 1 + w.random.IntN(3) {
		transport := pick(w, "pcie", "tcp", "rdma", "fc")
		controller := fmt.Sprintf("%s/nvme/nvme%d", pci, 1000*instance+i)
		w.write(controller+"/transport", transport+"\n")
		w.symlink(fmt.Sprintf("%s/nvme%d", subsystem, 1000*instance+i), controller)
		p := w.device(fmt.Sprintf("nvme%dc%dn1", instance, i), controller, 259, nil)
		w.symlink(p.dir+"/device", controller)
		p.Kind, p.Type, p.noted = result.RemoteLayer, "nvme-"+transport, true
		if transport == "pcie" {
			p.Kind, p.Type, p.noted = result.DiskLayer, "nvme", false
			if p.FUA != nil && *p.FUA {
				p.DeviceCache = "write back"
			}
		}
		paths = append(paths, w.know(p))
	}
	n := w.device(fmt.Sprintf("nvme%dn1", instance), subsystem, 259, nil)
	w.symlink(n.dir+"/device", subsystem)
	n.Kind, n.Type, n.partitionable = result.MappedLayer, "nvme-multipath", true
	return w.know(n, paths...)
}

// partition makes a partition of a device, or returns the device if it has none.
func (w *world) partition(of *node) *node {
	if !of.partitionable {
		return of
	}
	w.count++
	n := w.device(fmt.Sprintf("%sp%d", of.ID, w.count), of.dir, 259, map[string]string{"partition": "1"})
	n.Kind, n.Type = result.MappedLayer, "partition"
	return w.know(n, of)
}
