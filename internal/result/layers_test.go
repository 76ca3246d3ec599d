package result

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func disk(id string) Layer { return Layer{ID: id, Kind: DiskLayer, Type: "disk"} }

func mirror(id string, below ...string) Layer {
	return Layer{ID: id, Kind: MappedLayer, Type: "raid1", Copies: len(below), Below: below}
}

func stripe(id string, below ...string) Layer {
	return Layer{ID: id, Kind: MappedLayer, Type: "raid0", Below: below}
}

func memory(id string) Layer { return Layer{ID: id, Kind: MemoryLayer, Type: "brd", InMemory: true} }

func TestZFSIsSeenAmongLayers(t *testing.T) {
	for name, c := range map[string]struct {
		layers []Layer
		is     bool
		want   string
	}{
		"a dataset":                            {[]Layer{{ID: "fs:/tank", Kind: FilesystemLayer, Type: "zfs"}, {ID: "pool:tank", Kind: PoolLayer, Type: "zfs"}, {ID: "pool:tank/mirror-0", Kind: PoolLayer, Type: "mirror"}}, true, "tank"},
		"a volume":                             {[]Layer{{ID: "fs:/mnt", Kind: FilesystemLayer, Type: "ext4"}, {ID: "zd0", Kind: MappedLayer, Type: "zvol"}, {ID: "pool:fast pool", Kind: PoolLayer, Type: "zfs"}}, true, "fast pool"},
		"another one":                          {[]Layer{{ID: "fs:/mnt", Kind: FilesystemLayer, Type: "btrfs"}, {ID: "pool:x", Kind: PoolLayer, Type: "btrfs"}}, false, ""},
		"a disk like that":                     {[]Layer{{ID: "pool:x", Kind: DiskLayer, Type: "zfs"}}, false, ""},
		"a volume that does not tell its pool": {[]Layer{{ID: "zd0", Kind: MappedLayer, Type: "zvol"}}, true, ""},
	} {
		if is, got := OnZFS(c.layers); is != c.is || got != c.want {
			t.Errorf("%s: %t, pool %q, want %t, %q", name, is, got, c.is, c.want)
		}
	}
}

func TestCopiesAndMemoryOfAStack(t *testing.T) {
	overlay := func(options string, below ...string) Layer {
		return Layer{ID: "fs:/", Kind: FilesystemLayer, Type: "overlay", Options: options, Below: below}
	}
	for name, c := range map[string]struct {
		layers []Layer
		copies int
		memory string // the layer that says so
	}{
		"nothing":                  {copies: 1},
		"one disk":                 {layers: []Layer{disk("sda")}, copies: 1},
		"a mirror":                 {layers: []Layer{mirror("md0", "sda", "sdb"), disk("sda"), disk("sdb")}, copies: 2},
		"a stripe of mirrors":      {layers: []Layer{stripe("md2", "md0", "md1"), mirror("md0", "a", "b"), disk("a"), disk("b"), mirror("md1", "c", "d"), disk("c"), disk("d")}, copies: 2},
		"a mirror of mirrors":      {layers: []Layer{mirror("md2", "md0", "md1"), mirror("md0", "a", "b"), disk("a"), disk("b"), mirror("md1", "c", "d"), disk("c"), disk("d")}, copies: 4},
		"a mirror of unlike sides": {layers: []Layer{mirror("md2", "md0", "c"), mirror("md0", "a", "b"), disk("a"), disk("b"), disk("c")}, copies: 3},
		"both halves on one disk":  {layers: []Layer{mirror("md0", "a1", "a2"), stripe("a1", "a"), disk("a"), stripe("a2", "a")}, copies: 2},
		"a file system on memory":  {layers: []Layer{{ID: "fs:/x", Kind: FilesystemLayer, Type: "ext4", Below: []string{"ram0"}}, memory("ram0")}, copies: 1, memory: "ram0"},
		"memory and a disk":        {layers: []Layer{mirror("md0", "ram0", "sda"), memory("ram0"), disk("sda")}, copies: 2},
		"two memories":             {layers: []Layer{stripe("md0", "ram0", "ram1"), memory("ram0"), memory("ram1")}, copies: 1, memory: "ram0"},
		"an upper directory in memory": {
			layers: []Layer{overlay("rw,lowerdir=/l,upperdir=/u", "ram0", "sda"), memory("ram0"), disk("sda")}, copies: 1, memory: "ram0",
		},
		"a lower directory in memory": {
			layers: []Layer{overlay("rw,lowerdir=/l,upperdir=/u", "sda", "ram0"), disk("sda"), memory("ram0")}, copies: 1,
		},
		"no upper directory": {
			layers: []Layer{overlay("ro,lowerdir=/l:/m", "ram0", "sda"), memory("ram0"), disk("sda")}, copies: 1,
		},
		"a pool of a mirror, with a log and a cache": {
			layers: []Layer{
				{ID: "pool:t", Kind: PoolLayer, Type: "zfs", Below: []string{"pool:t/mirror-0", "pool:t/logs", "pool:t/cache"}},
				{ID: "pool:t/mirror-0", Kind: PoolLayer, Type: "mirror", Copies: 2, Below: []string{"a", "b"}}, disk("a"), disk("b"),
				{ID: "pool:t/logs", Kind: PoolLayer, Type: "logs", Below: []string{"c"}}, memory("c"),
				{ID: "pool:t/cache", Kind: PoolLayer, Type: "cache", Below: []string{"d"}}, disk("d"),
			}, copies: 2,
		},
		"a circle":                  {layers: []Layer{mirror("a", "b", "b"), stripe("b", "a")}, copies: 2},
		"a layer that is not there": {layers: []Layer{mirror("a", "x", "y")}, copies: 2},
	} {
		if got := Copies(c.layers); got != c.copies {
			t.Errorf("%s: %d copies, want %d", name, got, c.copies)
		}
		if l, ok := InMemory(c.layers); l.ID != c.memory || ok != (c.memory != "") {
			t.Errorf("%s: in memory: %q, %t, want %q", name, l.ID, ok, c.memory)
		}
	}
}

func TestWhatIsWrittenPassesDataAndLogs(t *testing.T) {
	pool := func(kind string, below ...string) Layer {
		return Layer{ID: "pool:t/" + kind, Kind: PoolLayer, Type: kind, Below: below}
	}
	for name, c := range map[string]struct {
		layers []Layer
		want   string
	}{
		"nothing": {},
		"an overlay": {
			[]Layer{{ID: "o", Type: "overlay", Options: "rw,upperdir=/u", Below: []string{"u", "l"}}, {ID: "u", Below: []string{"a"}}, {ID: "l", Below: []string{"b"}}, disk("a"), disk("b")}, "o u a",
		},
		"an overlay without an upper directory": {[]Layer{{ID: "o", Type: "overlay", Below: []string{"a", "b"}}, disk("a"), disk("b")}, "o a b"},
		"a pool": {
			[]Layer{
				{ID: "pool:t", Kind: PoolLayer, Type: "zfs", Below: []string{"a", "pool:t/logs", "pool:t/cache", "pool:t/spares", "pool:t/special"}}, disk("a"),
				pool("logs", "b"), disk("b"), pool("cache", "c"), disk("c"), pool("spares", "d"), disk("d"), pool("special", "e"), disk("e"),
			}, "pool:t a pool:t/logs b pool:t/special e",
		},
		"a log of a file system": {[]Layer{{ID: "fs:/", Kind: FilesystemLayer, Type: "ext4", Below: []string{"a", "b"}}, disk("a"), disk("b")}, "fs:/ a b"},
		"a mirror":               {[]Layer{mirror("m", "a", "b"), disk("a"), disk("b")}, "m a b"},
		"a circle":               {[]Layer{stripe("m", "n", "x"), stripe("n", "m")}, "m n"},
	} {
		var got []string
		for _, l := range Written(c.layers) {
			got = append(got, l.ID)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestLeavesAreWhatNothingIsBelow(t *testing.T) {
	layers := []Layer{mirror("md0", "a", "b"), disk("a"), stripe("b", "c"), disk("c")}
	var ids []string
	for _, l := range Leaves(layers) {
		ids = append(ids, l.ID)
	}
	if got := strings.Join(ids, " "); got != "a c" {
		t.Errorf("got %q", got)
	}
	if len(layers) != 4 || layers[0].ID != "md0" {
		t.Error("the layers themselves have changed")
	}
}

func TestOptionsAreComparedWhole(t *testing.T) {
	for _, c := range []struct {
		options, name string
		want          bool
	}{
		{"rw,nobarrier", "nobarrier", true},
		{"nobarrier,rw", "nobarrier", true},
		{"rw,nobarrierx", "nobarrier", false},
		{"rw,xnobarrier", "nobarrier", false},
		{"rw,barrier=0", "barrier=0", true},
		{"rw,barrier=01", "barrier=0", false},
		{"rw,barrier=0", "barrier", false},
		{"rw,fsync=volatile", "volatile", false},
		{"rw,fsync=volatile", "fsync=volatile", true},
		{`upperdir=/x\054volatile`, "volatile", false},
		{"", "", false},
	} {
		if got := (Layer{Options: c.options}).HasOption("other", c.name); got != c.want {
			t.Errorf("%q has %q: %t", c.options, c.name, got)
		}
	}
}

// Documents come from workers that nobody needs to trust: whatever their layers are, the
// answer comes, and soon.
func TestAnyLayersHaveAnAnswer(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 7))
		n := 1 + random.IntN(60)
		layers := make([]Layer, n)
		for i := range layers {
			layers[i] = Layer{ID: fmt.Sprint(random.IntN(n)), Copies: random.IntN(1 << 20), InMemory: random.IntN(3) == 0}
			for range random.IntN(5) {
				layers[i].Below = append(layers[i].Below, fmt.Sprint(random.IntN(n+1)))
			}
		}
		if Copies(layers) < 1 {
			t.Errorf("seed %d: %d copies", seed, Copies(layers))
		}
		anywhere := slices.ContainsFunc(layers, func(l Layer) bool { return l.InMemory })
		if l, ok := InMemory(layers); ok && (!anywhere || !l.InMemory) {
			t.Errorf("seed %d: %+v is said to be in memory", seed, l)
		}
	}
}

func TestLayersFitIntoAnEnvironment(t *testing.T) {
	few := []Layer{mirror("md0", "sda", "sdb"), disk("sda"), disk("sdb")}
	if got := FitLayers(few); len(got) != 3 || got[0].Note != "" || got[0].Options != "" {
		t.Errorf("few: %+v", got)
	}
	overlay := Layer{ID: "fs:/", Type: "overlay", Note: "x", Options: "rw,lowerdir=" + strings.Repeat("/l:", 10_000) + ",upperdir=/u,volatile"}
	many := []Layer{overlay}
	for i := range 1000 {
		id := fmt.Sprintf("disk%d", i)
		many[0].Below = append(many[0].Below, id)
		many = append(many, disk(id))
	}
	many[0].Below = many[0].Below[:200]
	got := FitLayers(many)
	b, err := json.Marshal(got)
	if err != nil || len(b) > maxLayers || len(got) < 100 {
		t.Errorf("%d layers with %d bytes, %v", len(got), len(b), err)
	}
	if got[0].Options != "rw,upperdir=/u,volatile" || !strings.HasPrefix(got[0].Note, "x; ") || !strings.Contains(got[0].Note, fmt.Sprint(1001-len(got))) {
		t.Errorf("the first is %+v", got[0])
	}
	if len(many[0].Below) != 200 || many[0].Note != "x" {
		t.Error("the layers themselves have changed")
	}
	for _, id := range got[0].Below {
		if !slices.ContainsFunc(got, func(l Layer) bool { return l.ID == id }) {
			t.Errorf("%s is not there", id)
		}
	}
}
