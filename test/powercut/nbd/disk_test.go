package nbd

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// model is what a disk must be like, in a few lines: what was last written, what of that was
// safe at some time, and which sectors were written since.
type model struct {
	now, safe []byte
	since     []bool
}

func (m *model) write(p []byte, offset int, safe bool) {
	copy(m.now[offset:], p)
	for n := offset / Sector; n < (offset+len(p))/Sector; n++ {
		m.since[n] = true
	}
	if safe {
		m.keep(offset, len(p))
	}
}

func (m *model) keep(offset, length int) {
	copy(m.safe[offset:offset+length], m.now[offset:])
	for n := offset / Sector; n < (offset+length)/Sector; n++ {
		m.since[n] = false
	}
}

// TestDiskAgainstModel does random things to disks of every behaviour, and cuts the power.
func TestDiskAgainstModel(t *testing.T) {
	const sectors = 64
	for name, behaviour := range map[string]Behaviour{
		"honest":               {CacheSectors: 1000},
		"honest, small cache":  {CacheSectors: 5},
		"ignores":              {CacheSectors: 1000, IgnoreFlush: true},
		"ignores, small cache": {CacheSectors: 5, IgnoreFlush: true},
		"writes through":       {},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200) {
				random := rand.New(rand.NewPCG(seed, 1))
				d := NewDisk(make([]byte, sectors*Sector), behaviour, seed)
				m := model{now: make([]byte, sectors*Sector), safe: make([]byte, sectors*Sector), since: make([]bool, sectors)}
				for range 100 {
					step(t, random, d, &m, behaviour)
				}
				kept := float64(seed%3) / 2
				lost := d.Cut(kept)
				checkAfterCut(t, d, m, behaviour, kept, lost)
			}
		})
	}
}

// step does one thing to the disk and its model.
func step(t *testing.T, random *rand.Rand, d *Disk, m *model, b Behaviour) {
	t.Helper()
	size := len(m.now) / Sector
	first := random.IntN(size)
	length := (1 + random.IntN(min(8, size-first))) * Sector
	offset := first * Sector
	p := make([]byte, length)
	var err error
	fua := random.IntN(4) == 0
	switch random.IntN(8) {
	case 0:
		err = d.Flush()
		if !b.IgnoreFlush {
			m.keep(0, len(m.now))
		}
	case 1:
		err = d.Zero(int64(offset), int64(length), fua)
		m.write(p, offset, fua && !b.IgnoreFlush)
	case 2, 3:
		err = d.Read(p, int64(offset))
		if !bytes.Equal(p, m.now[offset:offset+length]) {
			t.Fatal("what was read is not what was last written")
		}
	default:
		for i := range p {
			p[i] = byte(random.Uint32())
		}
		err = d.Write(p, int64(offset), fua)
		m.write(p, offset, fua && !b.IgnoreFlush)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(d.cached) > b.CacheSectors || len(d.index) != len(d.cached) {
		t.Fatalf("the cache holds %d sectors and %d numbers, and may hold %d", len(d.cached), len(d.index), b.CacheSectors)
	}
}

func checkAfterCut(t *testing.T, d *Disk, m model, b Behaviour, kept float64, lost int) {
	t.Helper()
	if b.CacheSectors == 0 || kept == 1 {
		m.keep(0, len(m.now))
	}
	old := 0
	for at := 0; at < len(m.now); at += Sector {
		is := d.Medium()[at : at+Sector]
		if !bytes.Equal(is, m.now[at:at+Sector]) {
			old++
		}
		// With a large cache and no part kept, exactly what is safe is there: with a small
		// one or a part, anything newer may be, too. What was safe and not written again must be.
		exact := kept == 0 && b.CacheSectors >= 1000
		if exact || !m.since[at/Sector] {
			if !bytes.Equal(is, m.safe[at:at+Sector]) {
				t.Fatalf("sector %d is not what it must be after the cut", at/Sector)
			}
		}
	}
	if old > lost {
		t.Fatalf("%d sectors are old, and the disk says that it lost %d", old, lost)
	}
	if d.Flush() == nil || d.Write(make([]byte, Sector), 0, true) == nil || d.Read(make([]byte, Sector), 0) == nil || d.Zero(0, Sector, false) == nil {
		t.Fatal("a disk without power answers")
	}
	d.On()
	p := make([]byte, len(m.now))
	if err := d.Read(p, 0); err != nil || !bytes.Equal(p, d.Medium()) {
		t.Fatal("a disk that has its power back does not read its medium:", err)
	}
}

// TestCutAfter cuts before each of some requests: what was flushed before it is there, and
// nothing else.
func TestCutAfter(t *testing.T) {
	for requests := range 8 {
		d := NewDisk(make([]byte, 4*Sector), Behaviour{CacheSectors: 64}, 1)
		lost := make(chan int, 1)
		d.CutAfter(requests, 0, func(n int) { lost <- n })
		served := 0
		for n := range int64(4) {
			if d.Write(bytes.Repeat([]byte{1}, Sector), n*Sector, false) == nil {
				served++
			}
			if d.Flush() == nil {
				served++
			}
		}
		if served != requests {
			t.Errorf("%d requests were served, expected %d", served, requests)
		}
		if n := <-lost; n != requests%2 {
			t.Errorf("after %d requests %d sectors are lost, expected %d", requests, n, requests%2)
		}
		if there := bytes.Count(d.Medium(), []byte{1}); there != requests/2*Sector {
			t.Errorf("after %d requests %d bytes are there, expected %d sectors", requests, there, requests/2)
		}
	}
}

// TestCutIsRepeatable: the same seed loses the same sectors.
func TestCutIsRepeatable(t *testing.T) {
	cut := func(seed uint64) []byte {
		d := NewDisk(make([]byte, 64*Sector), Behaviour{CacheSectors: 64}, seed)
		for n := range int64(64) {
			if err := d.Write(bytes.Repeat([]byte{1}, Sector), n*Sector, false); err != nil {
				t.Fatal(err)
			}
		}
		if lost := d.Cut(0.5); lost < 8 || lost > 56 {
			t.Fatalf("%d of 64 sectors are lost", lost)
		}
		return d.Medium()
	}
	if !bytes.Equal(cut(1), cut(1)) {
		t.Error("the same seed keeps other sectors")
	}
	if bytes.Equal(cut(1), cut(2)) {
		t.Error("another seed keeps the same sectors")
	}
}
