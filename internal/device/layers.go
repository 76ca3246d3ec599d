package device

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"storagebench.io/storagebench/internal/result"
)

// deepest bounds the layers above each other that are followed. Real ones have fewer.
const deepest = 64

// Layers returns the layers of storage below a path, the path's own file system first. path
// must be absolute and without symbolic links. What cannot be seen has a layer, or a note.
func (s System) Layers(path string) ([]result.Layer, error) {
	mounts, err := s.mounts()
	if err != nil {
		return nil, err
	}
	m := holding(mounts, path)
	if m == nil {
		return nil, fmt.Errorf("device: no mount point contains %s", path)
	}
	st := newStack(s, mounts)
	st.compressed(st.filesystem(m), path)
	return st.layers, nil
}

// DeviceLayers returns the layers of storage below a block device, the device itself first.
func (s System) DeviceLayers(major, minor int) ([]result.Layer, error) {
	dir, err := s.sysfs(deviceNumber(major, minor))
	if err != nil {
		return nil, err
	}
	mounts, _ := s.mounts() // only a loop device's file needs them
	st := newStack(s, mounts)
	st.block(dir)
	return st.layers, nil
}

// Disks returns the names of the machine's disks: block devices that nothing visible is below, and
// that are neither in memory nor on another machine.
func (s System) Disks() []string {
	links, _ := filepath.Glob(s.path("sys/dev/block/*"))
	var disks []string
	for _, link := range links {
		var major, minor int
		if _, err := fmt.Sscanf(filepath.Base(link), "%d:%d", &major, &minor); err != nil {
			continue
		}
		layers, err := s.DeviceLayers(major, minor)
		if err == nil && layers[0].Kind == result.DiskLayer && !slices.Contains(disks, layers[0].ID) {
			disks = append(disks, layers[0].ID)
		}
	}
	slices.Sort(disks)
	return disks
}

// deviceNumber writes the number of a device as sysfs does.
func deviceNumber(major, minor int) string { return fmt.Sprintf("%d:%d", major, minor) }

// sysfs returns the directory of a block device.
func (s System) sysfs(number string) (string, error) {
	dir, err := filepath.EvalSymlinks(s.path("sys/dev/block", number))
	if err != nil {
		return "", fmt.Errorf("device: sysfs does not show device %s: %w", number, err)
	}
	return dir, nil
}

// stack collects layers from the top down.
type stack struct {
	system System
	mounts []*mountinfo.Info
	layers []result.Layer
	// at is where each layer is in layers, by its ID.
	at map[string]int
	// open are the layers whose lower layers are being followed, of which none can be below
	// itself.
	open map[string]bool
	// ids of the file systems, by the ID of their mount.
	ids map[int]string
	// drivers by their major number.
	drivers map[string]string
}

func newStack(s System, mounts []*mountinfo.Info) *stack {
	return &stack{
		system: s, mounts: mounts,
		at: map[string]int{}, open: map[string]bool{}, ids: map[int]string{}, drivers: s.drivers(),
	}
}

// add adds a layer, unless it is known already, and follows what is below it.
func (st *stack) add(l result.Layer, follow func(at int)) (id string) {
	if _, known := st.at[l.ID]; known {
		return l.ID
	}
	at := len(st.layers)
	st.at[l.ID] = at
	st.layers = append(st.layers, l)
	if follow == nil {
		return l.ID
	}
	if len(st.open) == deepest {
		st.note(at, "there are more layers below than storagebench follows")
		return l.ID
	}
	st.open[l.ID] = true
	follow(at)
	delete(st.open, l.ID)
	below := result.DataBelow(st.layers, st.layers[at])
	if len(below) > 0 && !slices.ContainsFunc(below, func(b result.Layer) bool { return !b.InMemory }) {
		st.layers[at].InMemory = true
	}
	return l.ID
}

// put records that the layer with an ID is below another, and reports whether it can be.
func (st *stack) put(at int, id string) bool {
	if st.open[id] {
		return false
	}
	if l := &st.layers[at]; !slices.Contains(l.Below, id) {
		l.Below = append(l.Below, id)
	}
	return true
}

// note adds a sentence to a layer.
func (st *stack) note(at int, format string, args ...any) {
	l := &st.layers[at]
	if l.Note != "" {
		l.Note += "; "
	}
	l.Note += fmt.Sprintf(format, args...)
}

// file follows the file system that holds a file or directory, below the layer at.
func (st *stack) file(at int, path string) {
	if !filepath.IsAbs(path) {
		st.hidden(at, path, "the path "+path+" is relative to a directory that the mount table does not show")
		return
	}
	real, err := st.system.resolve(path)
	if err != nil {
		st.hidden(at, path, path+" is not visible from here, so what it is on is not known")
		return
	}
	m := holding(st.mounts, real)
	if m == nil {
		st.hidden(at, path, path+" is on a file system that is not visible from here")
		return
	}
	id := st.filesystem(m)
	if !st.put(at, id) {
		st.hidden(at, path, path+" is on a file system that is not visible from here")
		return
	}
	st.compressed(id, real)
}

// hidden adds what cannot be seen below the layer at.
func (st *stack) hidden(at int, path, note string) {
	st.put(at, st.add(result.Layer{ID: "file:" + path, Kind: result.UnknownLayer, Type: "file", Source: path, Note: note}, nil))
}

// number follows the block device with a number, below the layer at.
func (st *stack) number(at int, number string) {
	dir, err := st.system.sysfs(number)
	if err != nil {
		st.put(at, st.add(result.Layer{
			ID: number, Kind: result.UnknownLayer, Type: "device", Number: number,
			Note: "sysfs does not show device " + number + ", so what is below it is not known",
		}, nil))
		return
	}
	st.device(at, dir)
}

// device follows the block device with a directory of sysfs, below the layer at.
func (st *stack) device(at int, dir string) {
	if id := st.block(dir); !st.put(at, id) {
		st.note(at, "sysfs shows %s both above and below %s", id, st.layers[at].ID)
	}
}

// named follows the block device that a file system names, below the layer at.
func (st *stack) named(at int, name string) {
	if number, ok := st.system.numberOf(name); ok {
		st.number(at, number)
		return
	}
	st.put(at, st.add(result.Layer{
		ID: name, Kind: result.UnknownLayer, Type: "device", Source: name,
		Note: name + " is not visible from here, so what is below it is not known",
	}, nil))
}

// resolve returns a path without symbolic links. One that may not be looked at stays as it is.
func (s System) resolve(path string) (string, error) {
	root, err := filepath.EvalSymlinks(s.path())
	if err != nil {
		return "", fmt.Errorf("device: %w", err)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, path))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return path, nil
	case err != nil:
		return "", fmt.Errorf("device: %w", err)
	}
	return "/" + strings.TrimPrefix(strings.TrimPrefix(real, root), "/"), nil
}
