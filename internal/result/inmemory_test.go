package result

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPartsInMemory(t *testing.T) {
	disk := func(id string) Layer { return Layer{ID: id, Kind: DiskLayer, Type: "nvme"} }
	fs := func(kind, options string, below ...string) Layer {
		return Layer{ID: "fs:/a", Kind: FilesystemLayer, Type: kind, Options: options, Below: below}
	}
	pool := func(copies int, below ...string) Layer {
		return Layer{ID: "pool:t", Kind: PoolLayer, Type: "zpool", Copies: copies, Below: below}
	}
	vdev := func(kind string, below ...string) Layer {
		return Layer{ID: kind, Kind: PoolLayer, Type: kind, Below: below}
	}
	md := func(kind string, copies int, below ...string) Layer {
		return Layer{ID: "md0", Kind: MappedLayer, Type: kind, Copies: copies, Below: below}
	}
	for name, c := range map[string]struct {
		layers []Layer
		want   string
	}{
		"disks only":                   {[]Layer{fs("xfs", "rw", "a"), disk("a")}, ""},
		"all of it":                    {[]Layer{fs("xfs", "rw", "m"), memory("m")}, "m:Data"},
		"a log of XFS":                 {[]Layer{fs("xfs", "rw,logdev=/dev/m", "a", "m"), disk("a"), memory("m")}, "m:Log"},
		"a realtime device of XFS":     {[]Layer{fs("xfs", "rw,rtdev=/dev/m", "a", "m"), disk("a"), memory("m")}, "m:Data"},
		"that, beside a log on a disk": {[]Layer{fs("xfs", "logdev=/dev/b,rtdev=/dev/m", "a", "b", "m"), disk("a"), disk("b"), memory("m")}, "m:Data"},
		"data, with a log on a disk":   {[]Layer{fs("xfs", "logdev=/dev/a", "m", "a"), memory("m"), disk("a")}, "m:Data"},
		"a journal":                    {[]Layer{fs("ext4", "rw", "a", "m"), disk("a"), memory("m")}, "m:Log"},
		"a stripe":                     {[]Layer{md("raid0", 1, "a", "m"), disk("a"), memory("m")}, "m:Data"},
		"a mirror":                     {[]Layer{md("raid1", 2, "a", "m"), disk("a"), memory("m")}, "m:Copy"},
		"a mirror in memory beside":    {[]Layer{fs("btrfs", "", "md0", "b"), md("raid1", 2, "m", "n"), memory("m"), memory("n"), disk("b")}, "m:Data"},
		"a stripe below a mirror":      {[]Layer{{ID: "top", Copies: 2, Below: []string{"md0", "b"}}, md("raid0", 1, "a", "m"), disk("a"), memory("m"), disk("b")}, "m:Copy"},
		"a log of ZFS":                 {[]Layer{pool(0, "a", "logs"), disk("a"), vdev("logs", "m"), memory("m")}, "m:Log"},
		"a mirrored log of ZFS":        {[]Layer{pool(0, "a", "logs"), disk("a"), {ID: "logs", Type: "logs", Copies: 2, Below: []string{"m", "b"}}, memory("m"), disk("b")}, "m:Log"},
		"a cache of ZFS":               {[]Layer{pool(0, "a", "cache"), disk("a"), vdev("cache", "m"), memory("m")}, "m:Copy"},
		"a spare of ZFS":               {[]Layer{pool(0, "a", "spares"), disk("a"), vdev("spares", "m"), memory("m")}, ""},
		"metadata of ZFS":              {[]Layer{pool(0, "a", "special"), disk("a"), vdev("special", "m"), memory("m")}, "m:Data"},
		"a lower directory":            {[]Layer{fs("overlay", "upperdir=/a,lowerdir=/m", "a", "m"), disk("a"), memory("m")}, ""},
		"an overlay that only is read": {[]Layer{fs("overlay", "lowerdir=/a:/m", "a", "m"), disk("a"), memory("m")}, "m:Data"},
		"no layers":                    {nil, ""},
		"a layer that is not there":    {[]Layer{fs("xfs", "", "gone", "m"), memory("m")}, "m:Data"},
		"below itself":                 {[]Layer{fs("xfs", "", "fs:/a", "m", "a"), memory("m"), disk("a")}, "m:Data"},
	} {
		got := ""
		for _, p := range PartsInMemory(c.layers) {
			got += p.Layer.ID + ":" + string(p.Of)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Whatever the layers are: what is named is in memory, once, and can be reached; and a chain of layers
// down to memory is always found.
func TestPartsInMemoryOfAnyLayers(t *testing.T) {
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 9))
		n := 1 + random.IntN(8)
		layers := make([]Layer, n)
		for i := range layers {
			layers[i] = Layer{ID: fmt.Sprint(i), Kind: []LayerKind{FilesystemLayer, PoolLayer, MappedLayer}[random.IntN(3)], Type: []string{"xfs", "ext4", "logs", "raid1", "spares"}[random.IntN(5)], Copies: random.IntN(3)}
			for range random.IntN(3) {
				layers[i].Below = append(layers[i].Below, fmt.Sprint(random.IntN(n+1)))
			}
			layers[i].InMemory = len(layers[i].Below) == 0 && random.IntN(2) == 0
		}
		parts := PartsInMemory(layers)
		var ids []string
		for _, p := range parts {
			ids = append(ids, p.Layer.ID)
			if !p.Layer.InMemory {
				t.Fatalf("seed %d: %+v is not in memory", seed, p)
			}
		}
		if slices.Sort(ids); len(slices.Compact(ids)) != len(parts) {
			t.Fatalf("seed %d: one of %v is there twice", seed, ids)
		}
		if _, all := InMemory(layers); all && len(parts) != 1 {
			t.Fatalf("seed %d: all is in memory, and the parts are %v", seed, parts)
		}
	}
}
