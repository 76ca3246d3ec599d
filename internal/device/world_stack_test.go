package device

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// block returns a device that can hold something: new, or made of others.
func (w *world) block(depth int) *node {
	if depth <= 0 || w.chance(25) {
		n := w.disk(pick(w, diskKinds...))
		if w.chance(30) {
			n = w.partition(n)
		}
		return n
	}
	switch w.random.IntN(5) {
	case 0:
		return w.partition(w.block(depth - 1))
	case 1:
		return w.mapper(depth)
	case 2:
		return w.raid(depth)
	default:
		return w.loop(depth)
	}
}

func (w *world) blocks(depth, n int) []*node {
	var out []*node
	for range n {
		out = append(out, w.block(depth))
	}
	return out
}

func (w *world) slaves(n *node, of []*node) {
	w.mkdir(n.dir + "/slaves")
	for _, b := range of {
		w.symlink(n.dir+"/slaves/"+b.ID, b.dir)
	}
}

func (w *world) mapper(depth int) *node {
	below := w.blocks(depth-1, 1+w.random.IntN(3))
	uuid := pick(w, "LVM-abc", "CRYPT-LUKS2-abc", "mpath-360", "part1-mpath-360", "")
	kind := map[string]string{"LVM-abc": "lvm", "CRYPT-LUKS2-abc": "crypt", "mpath-360": "multipath", "part1-mpath-360": "partition", "": "dm"}[uuid]
	name := w.name("vg") + "-data"
	n := w.device(w.name("dm-"), "sys/devices/virtual/block", 252, map[string]string{"dm/uuid": uuid, "dm/name": name})
	w.slaves(n, below)
	n.Kind, n.Type, n.Source = result.MappedLayer, kind, name
	return w.know(n, below...)
}

func (w *world) raid(depth int) *node {
	below := w.blocks(depth-1, 2+w.random.IntN(3))
	level := pick(w, "raid0", "raid1", "raid5", "raid10", "linear")
	files := map[string]string{"md/level": level, "md/raid_disks": fmt.Sprint(len(below)), "md/degraded": "0"}
	copies := 0
	switch level {
	case "raid1":
		missing := w.random.IntN(2)
		files["md/raid_disks"], files["md/degraded"] = fmt.Sprint(len(below)+missing), fmt.Sprint(missing)
		copies = len(below)
	case "raid10":
		near, far := 1+w.random.IntN(2), 1+w.random.IntN(2)
		files["md/layout"] = fmt.Sprint(far<<8 | near)
		copies = near * far
	}
	n := w.device(w.name(pick(w, "md", "md_home", "md_")), "sys/devices/virtual/block", 9, files)
	w.slaves(n, below)
	n.Kind, n.Type, n.Copies, n.partitionable = result.MappedLayer, level, copies, true
	return w.know(n, below...)
}

// loop makes a loop device on a file: one that is there, that was removed, that is not visible
// from here, or that was in memory only.
func (w *world) loop(depth int) *node {
	var holds *node
	var file string
	files := map[string]string{}
	switch w.random.IntN(6) {
	case 0:
		file = fmt.Sprintf("/memfd:%s (deleted)", w.odd("disk"))
		holds = w.know(&node{Layer: result.Layer{ID: "file:" + file, Kind: result.MemoryLayer, Type: "memfd", Source: file, InMemory: true}})
		holds.direct[1] = result.CachedAnyway
	case 1:
		file = "/elsewhere/" + w.odd("disk.img") + pick(w, "", " (deleted)")
		holds = w.hidden(file)
	case 2:
		holds = w.filesystem(depth - 1)
		file = filepath.Join(mountPoint(holds), w.odd("gone.img")) + " (deleted)"
	default:
		holds = w.filesystem(depth - 1)
		file = filepath.Join(mountPoint(holds), w.odd("dir"), w.odd("disk.img"))
		w.write(file, "")
	}
	files["loop/backing_file"] = file
	var dio *bool
	if w.chance(80) {
		dio = new(w.chance(60))
		files["loop/dio"] = bit(*dio)
	}
	n := w.device(w.name("loop"), "sys/devices/virtual/block", 7, files)
	n.Kind, n.Type, n.Source, n.DirectIO, n.partitionable = result.LoopLayer, "loop", file, dio, true
	if w.chance(20) { // it is read-only
		w.write(n.dir+"/ro", "1\n")
	} else {
		n.DeviceCache = "write back"
	}
	w.know(n, holds)
	for i := range n.direct {
		n.direct[i] = holds.direct[1]
		if dio == nil {
			n.direct[i] = worse(n.direct[i], result.DirectUnknown)
		} else if !*dio {
			n.direct[i] = result.CachedAnyway
		}
	}
	return n
}

func (w *world) hidden(path string) *node {
	n := w.know(&node{Layer: result.Layer{ID: "file:" + path, Kind: result.UnknownLayer, Type: "file", Source: path}, noted: true})
	n.direct[1] = result.DirectUnknown
	return n
}

// odd returns a name with characters that tables write in other ways, or not.
func (w *world) odd(name string) string {
	w.count++
	return fmt.Sprintf("%s%s%d", name, pick(w, "", "", " ", " x ", "\t", `\`, `\040`, "#", "ü", ":", ",", "=", " (deleted)"), w.count)
}

func mountPoint(n *node) string {
	return strings.TrimPrefix(n.ID, "fs:")
}

// place returns a new mount point below a directory that is visible.
func (w *world) place() string {
	var all []string
	for p := range w.places {
		all = append(all, p)
	}
	slices.Sort(all)
	p := filepath.Join(pick(w, all...), w.odd("mnt"))
	w.mkdir(p)
	return p
}

var escape = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`, "#", `\043`)

// escapeOption writes a value as the kernel does in options.
var escapeOption = strings.NewReplacer(" ", `\040`, "\t", `\011`, `\`, `\134`, ",", `\054`, "=", `\075`)

// mount adds a line to the mount table, and sometimes others: of file systems that are mounted
// there but not visible, because this one is mounted over them.
func (w *world) mount(at, number, root, kind, source, options string) {
	parent := 1
	if at != "/" {
		for p := filepath.Dir(at); ; p = filepath.Dir(p) {
			if id, ok := w.places[p]; ok {
				parent = id
				break
			}
		}
	}
	line := func(parent int, at, number, root, kind, source, options string) int {
		w.count++
		id := 100 + w.count
		shared := pick(w, "", " shared:1", " shared:1 master:2")
		w.mounts = append(w.mounts, fmt.Sprintf("%d %d %s %s %s rw,relatime%s - %s %s rw%s",
			id, parent, number, escape.Replace(root), escape.Replace(at), shared, kind, escape.Replace(source), options))
		return id
	}
	for w.chance(30) {
		decoy := line(parent, at, "0:9", "/", "proc", "decoy", "")
		if w.chance(50) {
			line(decoy, filepath.Join(at, "dir"), "0:9", "/", "proc", "decoy", "")
		}
		parent = decoy
	}
	w.places[at] = line(parent, at, number, root, kind, source, options)
}

func (w *world) filesystemOn(at, kind string, on *node) *node {
	options := pick(w, "", ",nobarrier", ",barrier=0")
	n := &node{Layer: result.Layer{ID: "fs:" + at, Kind: result.FilesystemLayer, Type: kind, Options: "rw,relatime" + options}}
	n.Source = pick(w, "/dev/"+on.ID, "/dev/root", "/dev/renamed")
	w.mount(at, on.Number, pick(w, "/", "/", "/sub dir"), kind, n.Source, options)
	if kind == "ext4" && w.chance(50) { // what tune2fs has made the default
		w.write("proc/fs/ext4/"+on.ID+"/options", "rw\nbarrier_default\ndata=ordered\n")
		n.Options = joinOptions(n.Options, "barrier_default,data=ordered")
	}
	w.know(n, append([]*node{on}, w.journal(kind, on)...)...)
	if kind == "fuseblk" { // a program reads the disk
		n.direct[1] = worse(n.direct[1], result.DirectUnknown)
	}
	return n
}

// journal gives an ext4 a journal: a file of its own, or a device, whose thread the host's processes show.
func (w *world) journal(kind string, on *node) []*node {
	if kind != "ext4" || w.chance(30) {
		return nil // or nothing shows one
	}
	task := "sys/fs/ext4/" + on.ID + "/journal_task"
	if w.chance(20) {
		w.write(task, "<none>\n")
		return nil
	}
	w.count++
	thread := w.count
	w.write(task, fmt.Sprintln(thread))
	if w.chance(50) {
		w.write("proc/fs/jbd2/"+on.ID+"-8/info", "")
		return nil
	}
	journal := w.block(0)
	w.write("proc/fs/jbd2/"+journal.ID+"/info", "")
	w.write(fmt.Sprintf("proc/%d/comm", thread), "jbd2/"+journal.ID+"\n")
	return []*node{journal}
}

// filesystem mounts a file system, and sometimes a part of one that is mounted already.
func (w *world) filesystem(depth int) *node {
	at := w.place()
	anonymous := "0:77"
	n := &node{Layer: result.Layer{ID: "fs:" + at, Kind: result.FilesystemLayer, Options: "rw,relatime", Source: "none"}}
	simple := func(kind string) *node {
		n.Type = kind
		w.mount(at, anonymous, "/", kind, n.Source, "")
		return w.know(n)
	}
	switch w.random.IntN(9) {
	case 0:
		n.InMemory = true
		n = simple(pick(w, "tmpfs", "ramfs"))
		n.direct[1] = result.CachedAnyway
		return n
	case 1:
		n.Kind, n.Source, n.noted = result.RemoteLayer, "server:/ex port", true
		return simple(pick(w, "nfs4", "cifs", "ceph", "virtiofs", "9p"))
	case 2:
		n.noted = true
		n = simple(pick(w, "fuse.sshfs", "fuse"))
		n.direct[1] = result.DirectUnknown
		return n
	case 3:
		n.Kind, n.noted = result.UnknownLayer, true
		n = simple(pick(w, "ubifs", "newfs"))
		n.direct[1] = result.DirectUnknown
		return n
	case 4:
		return w.btrfs(at, depth)
	case 5:
		return w.overlay(at, depth)
	case 6:
		return w.zfs(at, depth)
	default:
		return w.filesystemOn(at, pick(w, "ext4", "xfs", "fuseblk"), w.block(depth-1))
	}
}

func (w *world) btrfs(at string, depth int) *node {
	below := w.blocks(depth-1, 1+w.random.IntN(3))
	profile := pick(w, "single", "dup", "raid1", "raid1c3", "raid0")
	dir := "sys/fs/btrfs/" + w.name("uuid")
	for _, b := range below {
		w.symlink(dir+"/devices/"+b.ID, b.dir)
	}
	w.write(dir+"/allocation/data/"+profile+"/total_bytes", "1000\n")
	w.write(dir+"/allocation/metadata/dup/total_bytes", "9000\n")
	source := "/dev/" + below[0].ID
	if below[0].Source != "" && below[0].Kind == result.MappedLayer {
		source = "/dev/mapper/" + below[0].Source
	}
	n := &node{Layer: result.Layer{
		ID: "fs:" + at, Kind: result.FilesystemLayer, Type: "btrfs", Options: "rw,relatime,subvol=/x", Source: source,
		Copies: map[string]int{"dup": 2, "raid1": 2, "raid1c3": 3}[profile],
	}, noted: true}
	w.mount(at, "0:78", pick(w, "/", "/@home"), "btrfs", source, ",subvol=/x")
	return w.know(n, below...)
}

func (w *world) overlay(at string, depth int) *node {
	var below []*node
	var gone *node // of all lower directories that are not visible, the first is a layer
	upper := false
	directory := func() string {
		if w.chance(20) {
			path := "/elsewhere/" + w.odd("layer")
			if upper {
				below = append(below, w.hidden(path))
			} else if gone == nil {
				gone = w.hidden(path)
			}
			return path
		}
		on := w.filesystem(depth - 1)
		below = append(below, on)
		path := filepath.Join(mountPoint(on), w.odd("layer"))
		w.mkdir(path)
		if w.chance(20) {
			link := w.odd("/links/link")
			w.symlink(link, path)
			path = link
		}
		return path
	}
	options := ""
	if w.chance(70) {
		upper = true
		options = pick(w, "", ",volatile", ",fsync=volatile") + ",upperdir=" + escapeOption.Replace(strings.NewReplacer(",", `\,`, `\`, `\\`).Replace(directory()))
	}
	upper = false
	colons := strings.NewReplacer(":", `\:`, `\`, `\\`)
	if w.chance(50) {
		var lower []string
		for range 1 + w.random.IntN(3) {
			lower = append(lower, colons.Replace(directory()))
		}
		options += ",lowerdir=" + escapeOption.Replace(strings.Join(lower, ":"))
	} else {
		for range 1 + w.random.IntN(3) {
			options += ",lowerdir+=" + escapeOption.Replace(directory())
		}
	}
	if gone != nil {
		below = append(below, gone)
	}
	n := &node{Layer: result.Layer{ID: "fs:" + at, Kind: result.FilesystemLayer, Type: "overlay", Options: "rw,relatime" + options, Source: "overlay"}}
	w.mount(at, "0:79", "/", "overlay", "overlay", options)
	return w.know(n, below...)
}
