package device

import (
	"fmt"
	"path/filepath"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// zfs makes a pool with disks, mirrors, files, and what else a pool can have.
func (w *world) zfs(at string, depth int) *node {
	pool := w.name(pick(w, "tank", "my pool"))
	status := &strings.Builder{}
	fmt.Fprintf(status, "  pool: %s\n state: ONLINE\nconfig:\n\n\tNAME      STATE     READ WRITE CKSUM\n\t%s  ONLINE       0     0     0\n", pool, pool)
	var below []*node
	data := 0
	for range 1 + w.random.IntN(3) {
		below = append(below, w.vdev(status, "pool:"+pool, "\t  ", depth))
		data++
	}
	for _, heading := range []string{"special", "logs", "cache"} {
		if w.chance(30) {
			fmt.Fprintf(status, "\t%s\n", heading)
			part := w.vdev(status, "pool:"+pool+"/"+heading, "\t  ", depth)
			below = append(below, w.know(&node{Layer: result.Layer{ID: "pool:" + pool + "/" + heading, Kind: result.PoolLayer, Type: heading}}, part))
		}
	}
	status.WriteString("\nerrors: No known data errors\n")
	w.pools[pool] = status.String()
	p := w.know(&node{Layer: result.Layer{ID: "pool:" + pool, Kind: result.PoolLayer, Type: "zfs"}}, below...)
	dataOnly := w.know(&node{Layer: result.Layer{ID: "only the data"}}, below[:data]...)
	delete(w.nodes, dataOnly.ID)
	p.total, p.direct, p.InMemory = dataOnly.total, dataOnly.direct, dataOnly.InMemory

	n := &node{Layer: result.Layer{ID: "fs:" + at, Kind: result.FilesystemLayer, Type: "zfs", Options: "rw,relatime", Source: pool + "/data set"}}
	w.mount(at, "0:80", "/", "zfs", n.Source, "")
	w.know(n, p)
	n.direct[1] = worse(n.direct[1], result.DirectUnknown)
	return n
}

// vdev makes a disk, a file or a group of a pool.
func (w *world) vdev(status *strings.Builder, above, indent string, depth int) *node {
	if len(indent) < 5 && w.chance(50) {
		kind := pick(w, "mirror", "raidz2", "draid2:4d:11c:1s")
		group := w.name(kind + "-")
		fmt.Fprintf(status, "%s%-10s  ONLINE       0     0     0\n", indent, group)
		id := above + "/" + group
		var below []*node
		for range 2 + w.random.IntN(2) {
			below = append(below, w.vdev(status, id, indent+"  ", depth))
		}
		n := &node{Layer: result.Layer{ID: id, Kind: result.PoolLayer, Type: kind}}
		if kind == "mirror" {
			n.Copies = len(below)
		}
		return w.know(n, below...)
	}
	if w.chance(20) {
		on := w.filesystem(depth - 1)
		path := filepath.Join(mountPoint(on), w.name("vdev"))
		w.write(path, "")
		fmt.Fprintf(status, "%s%s  ONLINE       0     0     0\n", indent, path)
		return on
	}
	n := w.block(depth - 1)
	fmt.Fprintf(status, "%s/dev/%s  %s       0     0     0\n", indent, n.ID, pick(w, "ONLINE", "DEGRADED"))
	return n
}

// grow adds something to the world that is mounted, or a bind mount of something that is.
func (w *world) grow() {
	on := w.filesystem(w.random.IntN(5))
	if !w.chance(25) || on.Kind != result.FilesystemLayer || on.Type == "zfs" {
		return
	}
	at := w.place()
	bind := *on
	bind.Layer.ID = "fs:" + at
	bind.Below = nil
	last := ""
	for _, line := range w.mounts {
		if strings.Contains(line, " "+escape.Replace(mountPoint(on))+" ") && !strings.Contains(line, "decoy") {
			last = line
		}
	}
	fields := strings.Fields(last)
	tail := strings.SplitN(last, " - ", 2)[1]
	w.count++
	parent := 0
	for p := filepath.Dir(at); parent == 0; p = filepath.Dir(p) {
		parent = w.places[p]
	}
	id := 100 + w.count
	w.mounts = append(w.mounts, fmt.Sprintf("%d %d %s /bound/part %s rw,relatime - %s", id, parent, fields[2], escape.Replace(at), tail))
	w.places[at] = id
	direct := on.direct
	w.know(&bind, on.below...)
	bind.direct = direct
}
