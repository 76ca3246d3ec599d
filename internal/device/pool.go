package device

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/result"
)

// pool adds a ZFS pool with its disks.
func (st *stack) pool(name string) (id string) {
	l := result.Layer{ID: "pool:" + name, Kind: result.PoolLayer, Type: "zfs"}
	return st.add(l, func(at int) {
		if st.system.Pool == nil {
			st.note(at, "the kernel does not show the disks of a ZFS pool, and zpool was not asked")
			return
		}
		status, err := st.system.Pool(name)
		if err != nil {
			st.note(at, "the disks of the pool are not known: %v", err)
			return
		}
		root := parsePool(status, name)
		if len(root) == 0 {
			st.note(at, "zpool status does not show the disks of the pool")
		}
		st.vdevs(at, root)
	})
}

// vdev is a line of zpool status with those that are indented below it.
type vdev struct {
	name, state string
	below       []*vdev
}

// A line begins with a tab, and with two blanks for each level. A heading has no state. Names
// of pools and paths may contain blanks.
var vdevLine = regexp.MustCompile(`^\t( *)(\S.*?)(?:\s+(ONLINE|DEGRADED|FAULTED|OFFLINE|UNAVAIL|REMOVED|AVAIL|INUSE)\b.*)?\s*$`)

// parsePool returns what is below a pool in the output of zpool status -P. What is not for
// data has a heading of its own: logs, cache, spares, special, dedup.
func parsePool(status, pool string) []*vdev {
	_, config, _ := strings.Cut(status, "config:")
	config, _, _ = strings.Cut(config, "\nerrors:")
	root := &vdev{}
	open := []*vdev{root}
	for line := range strings.Lines(config) {
		m := vdevLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if len(m) == 0 || m[3] == "" && strings.HasPrefix(m[2], "NAME ") {
			continue
		}
		level := len(m[1])/2 + 1
		if level > len(open) {
			continue // indented below nothing
		}
		v := &vdev{name: m[2], state: m[3]}
		open[level-1].below = append(open[level-1].below, v)
		open = append(open[:level], v)
	}
	var out []*vdev
	for _, v := range root.below {
		if v.name == pool {
			out = append(out, v.below...)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// vdevs adds the parts of a pool below the layer at.
func (st *stack) vdevs(at int, parts []*vdev) {
	for _, v := range parts {
		switch {
		case filepath.IsAbs(v.name):
			st.vdevPath(at, v)
		case len(v.below) > 0:
			id := st.layers[at].ID + "/" + v.name
			kind, _, _ := strings.Cut(v.name, "-")
			l := result.Layer{ID: id, Kind: result.PoolLayer, Type: kind}
			if kind == "mirror" {
				l.Copies = len(v.below)
			}
			st.put(at, st.add(l, func(at int) { st.vdevs(at, v.below) }))
		case v.state != "": // a disk that is gone has a number instead of a path
			st.put(at, st.add(result.Layer{
				ID: st.layers[at].ID + "/" + v.name, Kind: result.UnknownLayer, Type: "vdev", Note: fmt.Sprintf("%s of the pool is %s", v.name, v.state),
			}, nil))
		}
	}
}

// vdevPath adds a disk of a pool, or a file.
func (st *stack) vdevPath(at int, v *vdev) {
	if number, ok := st.system.numberOf(v.name); ok {
		st.number(at, number)
		return
	}
	if info, err := os.Stat(st.system.path(v.name)); err == nil && info.Mode().IsRegular() {
		st.file(at, v.name)
		return
	}
	st.hidden(at, v.name, v.name+" of the pool is not visible from here, so what it is on is not known")
}

// zvol follows a ZFS volume to its pool.
func (st *stack) zvol(at int) {
	name, err := ZvolName(st.system.path("dev", st.layers[at].ID))
	if err != nil {
		st.note(at, "the pool of this ZFS volume is not known: %v", err)
		return
	}
	st.layers[at].Source = name
	pool, _, _ := strings.Cut(name, "/")
	st.put(at, st.pool(pool))
}

// blkZName is the ioctl that names the dataset of a ZFS volume, BLKZNAME of ZFS:
// _IOR(0x12, 125, char[256]).
const (
	zNameLength = 256
	blkZName    = 2<<30 | zNameLength<<16 | 0x12<<8 | 125
)

// ZvolName asks a block device which ZFS volume it is.
func ZvolName(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("device: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only asked
	var name [zNameLength]byte
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), blkZName, uintptr(unsafe.Pointer(&name[0])))
	if errno != 0 {
		return "", fmt.Errorf("device: %s is not a ZFS volume: %w", path, errno)
	}
	return unix.ByteSliceToString(name[:]), nil
}
