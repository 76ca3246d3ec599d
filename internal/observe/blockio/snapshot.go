package blockio

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Snapshot is what was counted until a moment.
type Snapshot struct {
	disks []diskSnapshot
	// missed events, because a program ran on the same CPU already
	missed uint64
}

type (
	counters        [numbers]uint64
	histogramCounts [buckets]uint64
)

type diskSnapshot struct {
	counters counters
	// histograms of the operations that there were
	histograms [Operations][kinds]*histogramCounts
}

// Read reads the counters.
func (c *Collector) Read() (Snapshot, error) {
	s := Snapshot{disks: make([]diskSnapshot, len(c.disks))}
	for i := range c.disks {
		if err := c.readDisk(i, &s.disks[i]); err != nil {
			return Snapshot{}, fmt.Errorf("blockio: %s: %w", c.disks[i].Name, err)
		}
	}
	for _, p := range c.collection.Programs {
		if stats, err := p.Stats(); err == nil {
			s.missed += stats.RecursionMisses
		}
	}
	return s, nil
}

func (c *Collector) readDisk(disk int, s *diskSnapshot) error {
	err := read(c.collection.Maps[mapCounters], disk, &s.counters, func(sum, one *counters) { add(sum[:], one[:]) })
	if err != nil {
		return err
	}
	for op := range Operations {
		of := s.counters[op*perOperation:]
		of[opIssued] -= min(of[opIssued], of[opReturned])
		of[opBytes] -= min(of[opBytes], of[opReturnedBytes])
		if of[opIssued] == 0 {
			continue
		}
		for kind := range kinds {
			h := &histogramCounts{}
			err := read(c.collection.Maps[mapHistograms], (disk*Operations+op)*kinds+kind, h, func(sum, one *histogramCounts) { add(sum[:], one[:]) })
			if err != nil {
				return err
			}
			s.histograms[op][kind] = h
			h.completeZeros(kind, of[opDone])
		}
	}
	return nil
}

// read reads a map's element, added up over all CPUs.
func read[E counters | histogramCounts](m *ebpf.Map, key int, sum *E, each func(sum, one *E)) error {
	k := uint32(key) //nolint:gosec // the index of an element
	if m.Type() != ebpf.PerCPUArray {
		return m.Lookup(k, sum)
	}
	var all []E
	if err := m.Lookup(k, &all); err != nil {
		return err
	}
	for i := range all {
		each(sum, &all[i])
	}
	return nil
}

// since subtracts what was counted until an earlier moment.
func (s *Snapshot) since(earlier Snapshot) {
	s.missed -= min(s.missed, earlier.missed)
	for i := range min(len(s.disks), len(earlier.disks)) {
		subtract(s.disks[i].counters[:], earlier.disks[i].counters[:])
		for op := range Operations {
			for kind := range kinds {
				if h, before := s.disks[i].histograms[op][kind], earlier.disks[i].histograms[op][kind]; h != nil && before != nil {
					subtract(h[:], before[:])
				}
			}
		}
	}
}

// completeZeros counts the requests that waited not at all or took no time, which the programs leave
// out. A request may complete between the readings of the two, and then is not in the counters yet.
func (h *histogramCounts) completeZeros(kind int, requests uint64) {
	if kind == kindSize {
		return // a flush has none
	}
	for _, n := range h {
		requests -= min(requests, n)
	}
	h[0] += requests
}

func add(sum, more []uint64) {
	for i, n := range more {
		sum[i] += n
	}
}

func subtract(later, earlier []uint64) {
	for i := range later {
		later[i] -= min(later[i], earlier[i])
	}
}
