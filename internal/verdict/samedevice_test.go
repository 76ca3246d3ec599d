package verdict

import (
	"slices"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// Two targets share the lowest device that both can see, whatever kind it is, and nothing that only has the same name.
func TestTheLowestDeviceOfTwoTargetsIsNamed(t *testing.T) {
	fs := func(at string, below ...string) result.Layer {
		return result.Layer{ID: "fs:" + at, Kind: result.FilesystemLayer, Type: "ext4", Below: below}
	}
	device := func(kind result.LayerKind, name, number string, below ...string) result.Layer {
		return result.Layer{ID: name, Kind: kind, Number: number, Below: below}
	}
	sized := func(l result.Layer, bytes uint64) result.Layer { l.SizeBytes = bytes; return l }
	from := func(l result.Layer, source string) result.Layer { l.Source = source; return l }
	hidden := result.Layer{ID: "file:/x", Kind: result.UnknownLayer, Type: "file"}
	loop := func(source string) []result.Layer {
		return []result.Layer{fs("/data", "loop0"), from(device(result.LoopLayer, "loop0", "7:0", hidden.ID), source), hidden}
	}
	on := func(at string, l result.Layer) []result.Layer { return []result.Layer{fs(at, l.ID), l} }
	share := func(at, kind, source, options string) []result.Layer {
		return []result.Layer{{ID: "fs:" + at, Kind: result.RemoteLayer, Type: kind, Source: source, Options: options}}
	}
	dm := func(name, number, volume string) []result.Layer {
		return []result.Layer{fs("/data", name), from(device(result.MappedLayer, name, number, "sda"), volume), device(result.DiskLayer, "sda", "8:0")}
	}
	pool := func(dataset string, below ...string) []result.Layer {
		return []result.Layer{fs(dataset, "pool:tank"), {ID: "pool:tank", Kind: result.PoolLayer, Type: "zfs", Below: below}}
	}
	sda, sdb := device(result.DiskLayer, "sda", "8:0"), device(result.DiskLayer, "sdb", "8:16")
	part := func(name, number string) []result.Layer {
		return []result.Layer{fs("/"+name, name), device(result.MappedLayer, name, number, "sda"), sda}
	}
	fileOn := func(name, number string) []result.Layer {
		return []result.Layer{fs("/"+name, name), device(result.LoopLayer, name, number, "fs:/"), fs("/", "sda"), sda}
	}
	for name, c := range map[string]struct {
		a, b []result.Layer
		want []string
	}{
		"a loop device whose file is out of sight": {loop("/x"), loop("/x"), []string{"loop0"}},
		"a loop device of one, file below it":      {append(loop("/x")[:2:2], fs("/", "sda"), sda), loop("/x"), []string{"loop0"}},
		"an nbd":                                   {on("/a", device(result.RemoteLayer, "nbd0", "43:0")), on("/b", device(result.RemoteLayer, "nbd0", "43:0")), []string{"nbd0"}},
		"a zram":                                   {on("/a", device(result.MemoryLayer, "zram0", "252:0")), on("/b", device(result.MemoryLayer, "zram0", "252:0")), []string{"zram0"}},
		"an md without disks":                      {on("/a", device(result.MappedLayer, "md0", "9:0")), on("/b", device(result.MappedLayer, "md0", "9:0")), []string{"md0"}},
		"a device that sysfs does not show":        {on("/a", device(result.UnknownLayer, "8:1", "8:1")), on("/b", device(result.UnknownLayer, "8:1", "8:1")), []string{"8:1"}},
		"a pool whose disks are out of sight":      {pool("/a"), pool("/b"), []string{"pool:tank"}},
		"disks of a pool":                          {append(pool("/a", "sda", "sdb"), sda, sdb), append(pool("/b", "sda", "sdb"), sda, sdb), []string{"sda", "sdb"}},
		"one volume":                               {dm("dm-0", "253:0", "vg-a"), dm("dm-0", "253:0", "vg-a"), []string{"sda"}},
		"two volumes on one disk":                  {dm("dm-0", "253:0", "vg-a"), dm("dm-1", "253:1", "vg-b"), []string{"sda"}},
		"two partitions":                           {part("sda1", "8:1"), part("sda2", "8:2"), []string{"sda"}},
		"two loop devices":                         {fileOn("loop0", "7:0"), fileOn("loop1", "7:1"), []string{"sda"}},
		"two directories of one share":             {share("/mnt", "nfs4", "nas:/export", "rw,addr=10.0.0.1"), share("/mnt", "nfs4", "nas:/export", "rw,addr=10.0.0.1"), []string{"nas:/export"}},

		"two disks":                            {on("/a", sda), on("/b", sdb), nil},
		"two files out of sight":               {[]result.Layer{hidden}, []result.Layer{hidden}, nil},
		"a name with another number":           {on("/a", sda), on("/a", device(result.DiskLayer, "sda", "8:16")), nil},
		"a loop device of another file":        {loop("/x"), loop("/y"), nil},
		"a disk of another size":               {on("/a", sized(sda, 1<<30)), on("/a", sized(sda, 2<<30)), nil},
		"two volumes of which the disk is not": {dm("dm-0", "253:0", "vg-a")[:2], dm("dm-0", "253:0", "vg-b")[:2], nil},
		"two mounts of the same name":          {[]result.Layer{fs("/data")}, []result.Layer{fs("/data")}, nil},
		"two tmpfs":                            {[]result.Layer{from(fs("/data"), "tmpfs")}, []result.Layer{from(fs("/data"), "tmpfs")}, nil},
		"two exports":                          {share("/mnt", "nfs4", "nas:/a", "rw"), share("/mnt", "nfs4", "nas:/b", "rw"), nil},
		"two tunnels":                          {share("/mnt", "nfs4", "127.0.0.1:/", "rw,port=20049"), share("/mnt", "nfs4", "127.0.0.1:/", "rw,port=20050"), nil},
		"a device whose name is not visible":   {on("/a", result.Layer{ID: "/dev/x", Kind: result.UnknownLayer}), on("/b", result.Layer{ID: "/dev/x", Kind: result.UnknownLayer}), nil},
	} {
		a, b := &result.Environment{Target: result.TargetEnvironment{Layers: c.a}}, &result.Environment{Target: result.TargetEnvironment{Layers: c.b}}
		if got := SharedDisks(a, b); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := SharedDisks(b, a); !slices.Equal(got, c.want) {
			t.Errorf("%s, the other way round: %q, want %q", name, got, c.want)
		}
	}
}

// A disk that is attached after another one was detached gets its name and number. The kernel's count of disks tells them
// apart for as long as it runs.
func TestADiskThatTookTheNameOfAnotherIsNotTheSame(t *testing.T) {
	of := func(boot string, seq uint64) *result.Environment {
		return &result.Environment{BootID: boot, Target: result.TargetEnvironment{Layers: []result.Layer{
			{ID: "fs:/a", Kind: result.FilesystemLayer, Type: "ext4", Below: []string{"sdb"}},
			{ID: "sdb", Kind: result.DiskLayer, Number: "8:16", SizeBytes: 1 << 30, DiskSeq: seq},
		}}}
	}
	for name, c := range map[string]struct {
		a, b *result.Environment
		want []string
	}{
		"the same disk":       {of("x", 7), of("x", 7), []string{"sdb"}},
		"attached one by one": {of("x", 7), of("x", 8), nil},
		"a boot in between":   {of("x", 7), of("y", 3), []string{"sdb"}},
		"an older kernel":     {of("x", 0), of("x", 0), []string{"sdb"}},
		"not known of one":    {of("x", 7), of("x", 0), []string{"sdb"}},
		"no name of a boot":   {of("", 7), of("", 8), []string{"sdb"}},
	} {
		if got := SharedDisks(c.a, c.b); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
