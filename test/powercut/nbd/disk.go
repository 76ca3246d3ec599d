package nbd

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
)

// Sector is what a disk writes in one piece.
const Sector = 512

// Behaviour of a disk's cache.
type Behaviour struct {
	// CacheSectors is how many sectors the volatile cache holds. Without any, the disk writes
	// through, and has nothing to flush.
	CacheSectors int
	// IgnoreFlush acknowledges flushes and FUA and does nothing.
	IgnoreFlush bool
}

// Counters of what a disk has done since it was made.
type Counters struct{ Reads, Writes, Flushes, FUA, Trims int }

// Disk is a medium in memory below a volatile cache. It may be used by several goroutines.
type Disk struct {
	behaviour Behaviour
	size      int64

	mu     sync.Mutex
	medium []byte
	random *rand.Rand
	off    bool
	// What CutAfter has arranged.
	countdown int
	cutting   func()
	counts    Counters
	// The cached sectors, and where each stands in the list.
	cached []cachedSector
	index  map[int64]int
}

type cachedSector struct {
	number int64
	data   [Sector]byte
}

var (
	errNoPower   = errors.New("the disk has no power")
	errRange     = errors.New("beyond the end of the disk")
	errAlignment = errors.New("not whole sectors")
)

// NewDisk makes a disk of an image, whose size must be whole sectors. It changes the image.
func NewDisk(image []byte, behaviour Behaviour, seed uint64) *Disk {
	return &Disk{
		behaviour: behaviour, size: int64(len(image)), medium: image,
		random: rand.New(rand.NewPCG(seed, 0)), index: map[int64]int{},
	}
}

// check a request, which may be the one that comes too late. The caller holds the lock.
func (d *Disk) check(offset, length int64) error {
	if d.countdown > 0 && !d.off {
		d.countdown--
		if d.countdown == 0 {
			d.cutting()
		}
	}
	switch {
	case d.off:
		return errNoPower
	case offset%Sector != 0 || length%Sector != 0:
		return errAlignment
	case offset < 0 || length < 0 || offset > d.size || length > d.size-offset:
		return errRange
	}
	return nil
}

// Read fills p with what was last written.
func (d *Disk) Read(p []byte, offset int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.check(offset, int64(len(p))); err != nil {
		return err
	}
	d.counts.Reads++
	copy(p, d.medium[offset:])
	if len(d.cached) == 0 {
		return nil
	}
	for at := 0; at < len(p); at += Sector {
		if i, ok := d.index[(offset+int64(at))/Sector]; ok {
			copy(p[at:], d.cached[i].data[:])
		}
	}
	return nil
}

// Write puts p into the cache, or with FUA on the medium.
func (d *Disk) Write(p []byte, offset int64, fua bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.check(offset, int64(len(p))); err != nil {
		return err
	}
	d.counts.Writes++
	if fua {
		d.counts.FUA++
	}
	for at := 0; at < len(p); at += Sector {
		number := (offset + int64(at)) / Sector
		d.put(number, p[at:at+Sector])
		if i, ok := d.index[number]; ok && fua && !d.behaviour.IgnoreFlush {
			d.destage(i)
		}
	}
	return nil
}

// put one sector into the cache, which makes room if it must.
func (d *Disk) put(number int64, data []byte) {
	i, ok := d.index[number]
	switch {
	case d.behaviour.CacheSectors == 0:
		copy(d.medium[number*Sector:], data)
		return
	case !ok:
		if len(d.cached) >= d.behaviour.CacheSectors {
			d.destage(d.random.IntN(len(d.cached)))
		}
		i = len(d.cached)
		d.cached = append(d.cached, cachedSector{number: number})
		d.index[number] = i
	}
	copy(d.cached[i].data[:], data)
}

// destage moves a sector from the cache to the medium.
func (d *Disk) destage(i int) {
	s := &d.cached[i]
	copy(d.medium[s.number*Sector:], s.data[:])
	delete(d.index, s.number)
	last := len(d.cached) - 1
	if i != last {
		*s = d.cached[last]
		d.index[s.number] = i
	}
	d.cached = d.cached[:last]
}

// Flush moves the whole cache to the medium, if the disk is honest.
func (d *Disk) Flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.check(0, 0); err != nil {
		return err
	}
	d.counts.Flushes++
	if !d.behaviour.IgnoreFlush {
		for _, s := range d.cached {
			copy(d.medium[s.number*Sector:], s.data[:])
		}
		d.empty()
	}
	return nil
}

// Zero writes zeros, as TRIM and WRITE_ZEROES do.
func (d *Disk) Zero(offset, length int64, fua bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.check(offset, length); err != nil {
		return err
	}
	d.counts.Trims++
	var zeros [Sector]byte
	for number := offset / Sector; number < (offset+length)/Sector; number++ {
		d.put(number, zeros[:])
		if i, ok := d.index[number]; ok && fua && !d.behaviour.IgnoreFlush {
			d.destage(i)
		}
	}
	return nil
}

// Cut cuts the power. Each sector in the cache reaches the medium with the probability kept, and
// is lost otherwise.
func (d *Disk) Cut(kept float64) (lost int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cut(kept)
}

// CutAfter cuts the power when so many more requests have been served, before the next one is:
// between a write and its flush, if it so happens. It then calls the function with what is lost.
func (d *Disk) CutAfter(requests int, kept float64, done func(lost int)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.countdown = requests + 1
	d.cutting = func() {
		lost := d.cut(kept)
		go done(lost)
	}
}

func (d *Disk) cut(kept float64) (lost int) {
	d.off = true
	// The same ones for the same seed, wherever they stand in the list.
	slices.SortFunc(d.cached, func(a, b cachedSector) int { return int(a.number - b.number) })
	for _, s := range d.cached {
		if d.random.Float64() < kept {
			copy(d.medium[s.number*Sector:], s.data[:])
		} else {
			lost++
		}
	}
	d.empty()
	return lost
}

// On gives the disk its power back, with what the medium holds.
func (d *Disk) On() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = false
}

func (d *Disk) empty() {
	d.cached = d.cached[:0]
	clear(d.index)
}

// Counters returns what the disk has done.
func (d *Disk) Counters() Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}

// Medium is the image. Nobody may use it while the power is on.
func (d *Disk) Medium() []byte { return d.medium }
