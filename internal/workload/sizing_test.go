package workload

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

const gib = 1 << 30

func TestASizeFollowsFromTheCachesInThePathAndTheRoom(t *testing.T) {
	plain := Machine{Memory: 64 * gib, Below: result.Direct}
	limited := Machine{Memory: 512 * gib, Limit: 2 * gib}
	zfs := Machine{Memory: 64 * gib, ARC: 32 * gib, Below: result.DirectUnknown}
	loop := Machine{Memory: 16 * gib, Limit: 2 * gib, Below: result.CachedAnyway}
	for name, c := range map[string]struct {
		facts SizeFacts
		bytes uint64
		small bool
		why   string
	}{
		"direct I/O on a plain disk needs no more than the default": {SizeFacts{Machine: plain, Room: 500 * gib, Floor: gib}, gib, false, "no cache of this machine is in the path"},
		"buffered, twice the memory":                                {SizeFacts{Machine: Machine{Memory: 16 * gib}, Buffered: true, Room: 500 * gib, Floor: gib}, 32 * gib, false, "twice what the page cache can hold (16 GiB)"},
		"buffered within a limit":                                   {SizeFacts{Machine: limited, Buffered: true, Room: 500 * gib, Floor: gib}, 4 * gib, false, "within the memory limit can hold (2 GiB)"},
		"a limit above the memory is none":                          {SizeFacts{Machine: Machine{Memory: gib, Limit: 8 * gib}, Buffered: true, Room: 500 * gib, Floor: gib}, 2 * gib, false, "(1 GiB)"},
		"direct on ZFS still meets the ARC":                         {SizeFacts{Machine: zfs, Room: 500 * gib, Floor: gib}, 64 * gib, false, "the ARC of ZFS can hold (32 GiB)"},
		"buffered on ZFS meets the ARC only":                        {SizeFacts{Machine: zfs, Buffered: true, Room: 500 * gib, Floor: gib}, 64 * gib, false, "twice what the ARC of ZFS"},
		"direct on a cached loop meets all memory":                  {SizeFacts{Machine: loop, Room: 500 * gib, Floor: gib}, 32 * gib, false, "the page cache below the target"},
		"a huge machine is bounded":                                 {SizeFacts{Machine: Machine{Memory: 1024 * gib}, Buffered: true, Room: 9000 * gib, Floor: gib}, 64 * gib, true, "not more than 64 GiB"},
		"a small target":                                            {SizeFacts{Machine: Machine{Memory: 16 * gib}, Buffered: true, Room: 10 * gib, Floor: gib}, 8 * gib, true, "80 % of the 10 GiB that are free"},
		"a small target without a cache":                            {SizeFacts{Machine: plain, Room: 100 << 20, Floor: gib}, 80 << 20, false, "80 % of the 100 MiB"},
		"clones share it":                                           {SizeFacts{Machine: Machine{Memory: 16 * gib}, Buffered: true, Room: 500 * gib, Floor: gib, Parts: 4}, 8 * gib, false, "twice"},
		"each clone has the default":                                {SizeFacts{Machine: plain, Room: 500 * gib, Floor: gib, Parts: 128}, gib, false, "the default"},
		"more than the caches anyway":                               {SizeFacts{Machine: limited, Buffered: true, Room: 500 * gib, Floor: gib, Parts: 8}, gib, false, "more than twice"},
		"nothing is known":                                          {SizeFacts{Room: math.MaxUint64, Floor: gib}, gib, false, "the default"},
		"caches that are unknown":                                   {SizeFacts{Machine: Machine{Memory: gib, Below: result.DirectUnknown}, Room: 500 * gib, Floor: gib}, gib, false, "not known which caches"},
		"no room":                                                   {SizeFacts{Machine: plain, Unit: 4096, Floor: gib}, 0, false, "80 % of the 0 B"},
	} {
		got := Size(c.facts)
		if got.Bytes != c.bytes || got.TooSmall != c.small || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// Whatever the machine: the size fits, is not written for hours, is a multiple of the block, is more
// with more memory, and is either large enough for what can be cached, or said to be too small.
func TestASizeIsLargeEnoughOrSaidToBeTooSmallOnEveryMachine(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	bytes := func() uint64 { return random.Uint64() >> random.IntN(64) }
	small, enough, cached := 0, 0, 0
	for range 50_000 {
		f := SizeFacts{
			Machine:  Machine{Memory: bytes(), Below: []result.DirectMode{"", result.Direct, result.CachedAnyway, result.DirectUnknown}[random.IntN(4)]},
			Buffered: random.IntN(2) == 0, Room: bytes(), Parts: random.Uint64N(300), Unit: 1 << random.IntN(27), Floor: []uint64{0, gib}[random.IntN(2)],
		}
		if random.IntN(3) == 0 {
			f.Limit = bytes()
		}
		if random.IntN(4) == 0 {
			f.ARC = bytes()
		}
		got := Size(f)
		all := Product(got.Bytes, got.Parts)
		switch {
		case all > f.Room/10*8:
			t.Fatalf("%+v: %d bytes are more than 80 %% of the room", f, all)
		case all > max(64*gib, Product(f.Floor, got.Parts)):
			t.Fatalf("%+v: %d bytes take hours", f, all)
		case got.Bytes%f.Unit != 0:
			t.Fatalf("%+v: %d is no multiple of the block", f, got.Bytes)
		case got.Why == "":
			t.Fatalf("%+v: no reason", f)
		case !got.TooSmall && got.CacheBytes > 0 && Sum(all, Product(got.Parts, f.Unit+1<<20)) < Product(2, got.CacheBytes):
			t.Fatalf("%+v: %d bytes are less than twice the cache, and it does not say so: %+v", f, all, got)
		case got.TooSmall && all >= Product(2, got.CacheBytes):
			t.Fatalf("%+v: %d bytes are said to be too small for %d", f, all, got.CacheBytes)
		}
		direct := !f.Buffered && f.ARC == 0 && f.Below != result.CachedAnyway
		if direct != (got.CacheBytes == 0) && f.Memory > 0 && (f.Limit > 0 || f.Buffered) {
			t.Fatalf("%+v: the caches are %d", f, got.CacheBytes)
		}
		more := f
		more.Memory, more.Room = Sum(f.Memory, bytes()), Sum(f.Room, bytes())
		if after := Size(more); after.Bytes < got.Bytes && f.Memory > 0 {
			t.Fatalf("%+v: with more memory and room %d, before %d", more, after.Bytes, got.Bytes)
		}
		if got.CacheBytes > 0 {
			cached++
		}
		if got.TooSmall {
			small++
		} else {
			enough++
		}
	}
	if small < 5000 || enough < 5000 || cached < 5000 {
		t.Errorf("%d were too small, %d large enough, %d met a cache: the machines are not various enough", small, enough, cached)
	}
}

func TestTheARCCountsOnlyIfTheTargetIsOnZFS(t *testing.T) {
	e := &result.Environment{Memory: result.Memory{TotalBytes: 8 * gib, ARCBytes: 3 * gib}}
	e.Target.FilesystemType = "ext4"
	if m := MachineOf(e); m.ARC != 0 {
		t.Errorf("ext4: %+v", m)
	}
	e.Target.FilesystemType = "zfs"
	if m := MachineOf(e); m.ARC != 3*gib || m.Memory != 8*gib {
		t.Errorf("zfs: %+v", m)
	}
	e.Memory.ARCBytes = 0 // a container that does not see it
	if m := MachineOf(e); m.ARC != 4*gib {
		t.Errorf("an ARC that cannot be seen: %+v", m)
	}
	if m := MachineOf(nil); m != (Machine{}) {
		t.Errorf("nothing: %+v", m)
	}
}
