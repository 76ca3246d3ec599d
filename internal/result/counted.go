package result

import "slices"

// Uncounted returns the leaf disks whose I/O the kernel does not count.
func (t TargetEnvironment) Uncounted() []string {
	var out []string
	for _, l := range t.Layers {
		if t.isDevice(l.ID) && l.Kind != MemoryLayer && !l.IOStats {
			out = append(out, l.ID)
		}
	}
	return out
}

func (t TargetEnvironment) isDevice(name string) bool {
	return slices.ContainsFunc(t.Devices, func(d Device) bool { return d.Name == name })
}

// Counted returns the names of the block devices at which all I/O of the target is counted: its leaf
// disks, or layers above those that the kernel does not count. If there are none either, they are the
// leaf disks. A loop device is a disk here: what is below it is counted apart.
func (t TargetEnvironment) Counted() []string {
	var leaves []string
	for _, d := range t.Devices {
		leaves = append(leaves, d.Name)
	}
	if len(t.Layers) == 0 || len(t.Uncounted()) == 0 {
		return leaves
	}
	w := walk[[]string]{layers: t.Layers, at: func(l Layer, below []([]string)) []string {
		var all []string
		blind := len(below) == 0 || l.Kind == LoopLayer
		for _, b := range below {
			blind = blind || len(b) == 0
			all = append(all, b...)
		}
		switch {
		case !blind:
			return all
		case l.Number != "" && l.IOStats:
			return []string{l.ID}
		default:
			return nil
		}
	}}
	at := w.of(t.Layers[0])
	if len(at) == 0 {
		return leaves
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// Passed returns the names of the mapped block devices that all I/O of the target passes on its way to its disks:
// those above the first one that is made of several.
func (t TargetEnvironment) Passed() []string {
	var out []string
	for at := t.Layers[:min(1, len(t.Layers))]; len(at) == 1; {
		l := at[0]
		if t.isDevice(l.ID) || l.Kind == LoopLayer || slices.Contains(out, l.ID) {
			break
		}
		if l.Kind == MappedLayer {
			out = append(out, l.ID)
		}
		at = DataBelow(t.Layers, l)
	}
	return out
}

// Copies returns how many copies of each block of the target are counted: those below a layer that
// counts in the place of its disks are not.
func (t TargetEnvironment) Copies() int {
	counted := t.Counted()
	layers := slices.Clone(t.Layers)
	for i, l := range layers {
		if slices.Contains(counted, l.ID) && l.Kind != LoopLayer {
			layers[i].Below, layers[i].Copies = nil, 0
		}
	}
	return Copies(layers)
}
