package result

import "slices"

// MemoryPart is what a layer holds of a target.
type MemoryPart string

// Parts.
const (
	// DataPart is of the data itself, or of what no read or write can do without.
	DataPart MemoryPart = "Data"
	// LogPart is a log or journal, which a sync waits for.
	LogPart MemoryPart = "Log"
	// CopyPart is a mirror's copy, or a cache of reads: writes wait for a disk, too.
	CopyPart MemoryPart = "Copy"
)

// PartInMemory is a layer in memory, and what it holds.
type PartInMemory struct {
	Layer Layer
	Of    MemoryPart
}

// PartsInMemory returns what of the first layer is in memory though not all of it is (InMemory): a
// member of a stripe, the log of a file system, a copy. Each layer is there once.
func PartsInMemory(layers []Layer) []PartInMemory {
	if len(layers) == 0 {
		return nil
	}
	var out []PartInMemory
	seen := map[string]bool{}
	var visit func(l Layer, of MemoryPart)
	visit = func(l Layer, of MemoryPart) {
		if seen[l.ID] {
			return
		}
		seen[l.ID] = true
		if cause, ok := inMemory(layers, l); ok {
			if !slices.ContainsFunc(out, func(p PartInMemory) bool { return p.Layer.ID == cause.ID }) {
				out = append(out, PartInMemory{cause, of})
			}
			return
		}
		for i, id := range l.Below {
			at := slices.IndexFunc(layers, func(other Layer) bool { return other.ID == id })
			if at < 0 {
				continue
			}
			if part := l.partOf(i, layers[at], of); part != "" {
				visit(layers[at], part)
			}
		}
	}
	visit(layers[0], DataPart)
	return out
}

// partOf returns what its i-th layer below holds, if the layer itself holds what is given; "": nothing
// that a workload waits for.
func (l Layer) partOf(i int, below Layer, of MemoryPart) MemoryPart {
	switch {
	case l.Type == "overlay" && i > 0 && l.writable(), l.Kind == PoolLayer && below.Type == "spares":
		return ""
	case of != DataPart:
		return of
	case l.Kind == PoolLayer && below.Type == "logs", i == 1 && l.logOutside():
		return LogPart
	case l.Kind == PoolLayer && below.Type == "cache", l.Copies > 1:
		return CopyPart
	default:
		return DataPart
	}
}
