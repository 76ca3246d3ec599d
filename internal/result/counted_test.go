package result

import (
	"slices"
	"testing"
)

func TestWhatAllOfTheTargetPasses(t *testing.T) {
	fs := Layer{ID: "fs:/", Kind: FilesystemLayer, Type: "ext4", Below: []string{"dm-0"}}
	lv := func(id string, below ...string) Layer {
		return Layer{ID: id, Kind: MappedLayer, Type: "lvm", Number: "253:0", Below: below}
	}
	for name, c := range map[string]struct {
		layers []Layer
		want   []string
	}{
		"nothing":               {},
		"a disk":                {[]Layer{disk("a")}, nil},
		"a volume on an array":  {[]Layer{fs, lv("dm-0", "md0"), mirror("md0", "a", "b"), disk("a"), disk("b")}, []string{"dm-0", "md0"}},
		"a volume on two":       {[]Layer{fs, lv("dm-0", "dm-1", "dm-2"), lv("dm-1", "a"), lv("dm-2", "b"), disk("a"), disk("b")}, []string{"dm-0"}},
		"a volume below a loop": {[]Layer{{ID: "loop0", Kind: LoopLayer, Below: []string{"dm-0"}}, lv("dm-0", "a"), disk("a")}, nil},
		"a circle":              {[]Layer{lv("dm-0", "dm-1"), lv("dm-1", "dm-0")}, []string{"dm-0", "dm-1"}},
	} {
		target := TargetEnvironment{Layers: c.layers, Devices: []Device{{Name: "a"}, {Name: "b"}}}
		if got := target.Passed(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestALayerThatCountsStandsInForDisksThatDoNot(t *testing.T) {
	fs := func(below ...string) Layer { return Layer{ID: "fs:/", Kind: FilesystemLayer, Below: below} }
	disk := func(id string, counts bool) Layer {
		return Layer{ID: id, Kind: DiskLayer, Number: "8:0", IOStats: counts}
	}
	mapped := func(id string, counts bool, copies int, below ...string) Layer {
		return Layer{ID: id, Kind: MappedLayer, Number: "9:0", IOStats: counts, Copies: copies, Below: below}
	}
	for name, c := range map[string]struct {
		devices, want, uncounted []string
		layers                   []Layer
		copies                   int
	}{
		"disks that count": {[]string{"sda"}, []string{"sda"}, nil, []Layer{fs("sda"), disk("sda", true)}, 1},
		"nothing counts":   {[]string{"sda"}, []string{"sda"}, []string{"sda"}, []Layer{fs("dm-0"), mapped("dm-0", false, 0, "sda"), disk("sda", false)}, 1},
		"a mapped device above": {
			[]string{"sda"}, []string{"dm-0"}, []string{"sda"},
			[]Layer{fs("dm-0"), mapped("dm-0", true, 0, "sda"), disk("sda", false)}, 1,
		},
		"a mirror of which one disk does not count": {
			[]string{"sda", "sdb"}, []string{"md0"}, []string{"sdb"},
			[]Layer{fs("md0"), mapped("md0", true, 2, "sda", "sdb"), disk("sda", true), disk("sdb", false)}, 1,
		},
		"a mirror that does not count, of a mapped device and a disk": {
			[]string{"sda", "sdb"}, []string{"dm-0", "sdb"}, []string{"sda"},
			[]Layer{fs("md0"), mapped("md0", false, 2, "dm-0", "sdb"), mapped("dm-0", true, 0, "sda"), disk("sda", false), disk("sdb", true)}, 2,
		},
		"a multipath head that does not count": {
			[]string{"nvme0n1"}, []string{"nvme0c0n1", "nvme0c1n1"}, []string{"nvme0n1"},
			[]Layer{fs("nvme0n1"), mapped("nvme0n1", false, 0, "nvme0c0n1", "nvme0c1n1"), disk("nvme0c0n1", true), disk("nvme0c1n1", true)}, 1,
		},
		"a loop device that counts, on a disk that does not": {
			[]string{"loop0"}, []string{"loop0"}, nil,
			[]Layer{fs("loop0"), {ID: "loop0", Kind: LoopLayer, Number: "7:0", IOStats: true, Below: []string{"fs:/x"}}, {ID: "fs:/x", Kind: FilesystemLayer, Below: []string{"sda"}}, disk("sda", false)}, 1,
		},
		"a loop device that does not, on a disk that does": {
			[]string{"loop0"}, []string{"loop0"}, []string{"loop0"},
			[]Layer{fs("loop0"), {ID: "loop0", Kind: LoopLayer, Number: "7:0", Below: []string{"fs:/x"}}, {ID: "fs:/x", Kind: FilesystemLayer, Below: []string{"sda"}}, disk("sda", true)}, 1,
		},
		"layers that are not known": {[]string{"sda"}, []string{"sda"}, nil, nil, 1},
	} {
		target := TargetEnvironment{Layers: c.layers}
		for _, name := range c.devices {
			target.Devices = append(target.Devices, Device{Name: name})
		}
		if got := target.Counted(); !slices.Equal(got, c.want) {
			t.Errorf("%s: counted at %v, want %v", name, got, c.want)
		}
		if got := target.Uncounted(); !slices.Equal(got, c.uncounted) {
			t.Errorf("%s: uncounted are %v, want %v", name, got, c.uncounted)
		}
		if got := target.Copies(); got != c.copies {
			t.Errorf("%s: %d copies, want %d", name, got, c.copies)
		}
	}
}
