package result

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Leaves returns the layers that nothing visible is below.
func Leaves(layers []Layer) []Layer {
	return slices.DeleteFunc(slices.Clone(layers), func(l Layer) bool { return len(l.Below) > 0 })
}

// Copies returns how many copies of each block of the first layer its disks write. Where one
// part of the storage has more copies than another, it is their mean.
func Copies(layers []Layer) int {
	if len(layers) == 0 {
		return 1
	}
	w := walk[float64]{layers: layers, at: func(l Layer, below []float64) float64 {
		mean := 1.0
		if len(below) > 0 {
			mean = 0
			for _, n := range below {
				mean += n / float64(len(below))
			}
		}
		// A mirror below a mirror multiplies; mirrors side by side do not.
		return min(mean*float64(max(1, l.Copies)), math.MaxInt32)
	}}
	return max(1, int(math.Round(w.of(layers[0]))))
}

// OnZFS reports whether ZFS is among layers: a dataset, a volume, or what holds a loop device's file; and the
// name of its pool, if that is known.
func OnZFS(layers []Layer) (is bool, pool string) {
	for _, l := range layers {
		if name, ok := strings.CutPrefix(l.ID, "pool:"); ok && l.Kind == PoolLayer && l.Type == "zfs" {
			return true, name
		}
		is = is || l.Type == "zvol"
	}
	return is, ""
}

// InMemory returns the layer that says so if all data of the first layer is in memory. A
// mirror of memory and a disk is not in memory.
func InMemory(layers []Layer) (Layer, bool) {
	if len(layers) == 0 {
		return Layer{}, false
	}
	return inMemory(layers, layers[0])
}

// inMemory is InMemory of one of the layers.
func inMemory(layers []Layer, l Layer) (Layer, bool) {
	w := walk[*Layer]{layers: layers, at: func(l Layer, below []*Layer) *Layer {
		if len(below) > 0 && !slices.Contains(below, nil) {
			return below[0] // the lowest is the cause
		}
		if l.InMemory {
			return &l
		}
		return nil
	}}
	if cause := w.of(l); cause != nil {
		return *cause, true
	}
	return Layer{}, false
}

// DataBelow returns the layers below l that hold its data: all of them, but of an overlay only
// the upper directory, of a pool no logs, caches and spares, and of a file system not its log.
func DataBelow(layers []Layer, l Layer) []Layer {
	var out []Layer
	for i, id := range l.Below {
		at := slices.IndexFunc(layers, func(other Layer) bool { return other.ID == id })
		if at < 0 || i > 0 && l.Type == "overlay" && l.writable() || i == 1 && l.logOutside() {
			continue
		}
		if below := layers[at]; l.Kind != PoolLayer || !slices.Contains(auxiliary, below.Type) {
			out = append(out, below)
		}
	}
	return out
}

// Written returns the layers that what is written to the first one passes: those that hold its data, and its
// logs. An overlay's lower directories hold neither, nor do spares and caches of reads.
func Written(layers []Layer) []Layer {
	var out []Layer
	seen := map[string]bool{}
	var visit func(l Layer)
	visit = func(l Layer) {
		if seen[l.ID] {
			return
		}
		seen[l.ID] = true
		out = append(out, l)
		for i, id := range l.Below {
			at := slices.IndexFunc(layers, func(other Layer) bool { return other.ID == id })
			if at < 0 || l.partOf(i, layers[at], DataPart) == "" || l.Kind == PoolLayer && layers[at].Type == "cache" {
				continue
			}
			visit(layers[at])
		}
	}
	if len(layers) > 0 {
		visit(layers[0])
	}
	return out
}

// maxLayers is how many bytes of JSON layers may have in an environment, which has a limit of
// its own. It is enough for a hundred disks.
const maxLayers = 24 << 10

// maxOptions is how long the options of a layer may be when there is not enough room. Overlays
// can have hundreds of lower directories.
const maxOptions = 512

// FitLayers returns layers that fit into an environment. If there are too many, it shortens
// the options of overlays, and then leaves out the last layers, which the first one notes.
func FitLayers(layers []Layer) []Layer {
	size := func(v any) int {
		b, err := json.Marshal(v)
		if err != nil {
			return math.MaxInt32
		}
		return len(b) + 1
	}
	if len(layers) == 0 || size(layers) <= maxLayers {
		return layers
	}
	var out []Layer
	room := maxLayers - 256 // for the note
	kept := map[string]bool{}
	for _, l := range layers {
		l.Options, l.Below = shortOptions(l.Options), slices.Clone(l.Below)
		if room -= size(l); room < 0 {
			break
		}
		out, kept[l.ID] = append(out, l), true
	}
	for i := range out {
		out[i].Below = slices.DeleteFunc(out[i].Below, func(id string) bool { return !kept[id] })
	}
	if left := len(layers) - len(out); left > 0 && len(out) > 0 {
		out[0].Note = strings.TrimPrefix(fmt.Sprintf("%s; %d more layers are left out, because they are too many for the results", out[0].Note, left), "; ")
	}
	return out
}

// shortOptions leaves out the options that are long, until the rest is not.
func shortOptions(options string) string {
	if len(options) <= maxOptions {
		return options
	}
	var out []string
	length := 0
	for option := range strings.SplitSeq(options, ",") {
		if length+len(option) < maxOptions && !strings.HasPrefix(option, "lowerdir") {
			out, length = append(out, option), length+len(option)+1
		}
	}
	return strings.Join(out, ",")
}

// auxiliary are the parts of a ZFS pool that hold no data of files, or not only there.
var auxiliary = []string{"logs", "cache", "spares", "special", "dedup"}

// logOutside reports whether the second layer below a file system is its log: XFS says so in its options,
// and nothing else is below an ext3 or ext4 besides.
func (l Layer) logOutside() bool {
	return l.Kind == FilesystemLayer && (strings.HasPrefix(l.Type, "ext") || slices.ContainsFunc(strings.Split(l.Options, ","), func(option string) bool { return strings.HasPrefix(option, "logdev=") }))
}

// writable reports whether an overlay has an upper directory.
func (l Layer) writable() bool {
	for option := range strings.SplitSeq(l.Options, ",") {
		if strings.HasPrefix(option, "upperdir=") {
			return true
		}
	}
	return false
}

// HasOption reports whether a file system has one of the options. An option with a value is
// compared whole, such as barrier=0.
func (l Layer) HasOption(names ...string) bool {
	if l.Options == "" {
		return false
	}
	for option := range strings.SplitSeq(l.Options, ",") {
		if slices.Contains(names, option) {
			return true
		}
	}
	return false
}

// walk computes something of each layer from the same of those that hold its data. It also
// ends on documents whose layers are below themselves.
type walk[T any] struct {
	layers []Layer
	at     func(l Layer, below []T) T
	known  map[string]T
	open   map[string]bool
}

func (w *walk[T]) of(l Layer) T {
	if w.known == nil {
		w.known, w.open = map[string]T{}, map[string]bool{}
	}
	if v, ok := w.known[l.ID]; ok {
		return v
	}
	w.open[l.ID] = true
	var below []T
	for _, b := range DataBelow(w.layers, l) {
		if !w.open[b.ID] {
			below = append(below, w.of(b))
		}
	}
	w.open[l.ID] = false
	v := w.at(l, below)
	w.known[l.ID] = v
	return v
}
