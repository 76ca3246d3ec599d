package observe

import (
	"slices"

	"storagebench.io/storagebench/internal/result"
)

// A disk that was not counted all the time is as one that is not counted at all. The two ends of a trial do not tell: its
// counters may have been turned off and on again, or it was gone meanwhile. So each sample looks.

// diskNumbers puts a disk's stat file into its part of a row. Ticks go on where the kernel's begin anew.
func diskNumbers(text []byte, row []uint64) {
	if len(text) == 0 { // it is gone
		row[gapsAt]++
		return
	}
	var now [fields]uint64
	numbers(text, now[:])
	gap := uint64(0)
	for i, n := range now {
		if back(i, row[i], n) {
			gap = 1
		}
		if ticks[i] {
			n = row[i] + ticked(row[i], n)
		}
		row[i] = n
	}
	row[gapsAt] += gap
}

// diskSwitch puts into a disk's part of a row whether it is counted. If not, neither was it in all of the interval
// that ends here, nor will it have been in all of the next one.
func diskSwitch(text []byte, row []uint64) {
	off := row[offAt]
	row[offAt] = 0
	if turnedOff(text) {
		row[offAt] = 1
	}
	if off+row[offAt] > 0 {
		row[gapsAt]++
	}
}

// Trial ends the sampler, and returns what Watch.Trial does of moments while it ran. A disk that it saw uncounted in between
// is not counted.
func (s *Sampler) Trial(before, end, drained Moment) result.Metrics {
	s.Stop()
	for _, group := range [][2]*Counters{{&before.target, &end.target}, {&before.below, &end.below}, {&before.others, &end.others}} {
		s.amend(group[0], group[1])
	}
	return s.watch.Trial(before, end, drained)
}

// amend adds to counters at two moments what samples tell of the time between them.
func (s *Sampler) amend(before, end *Counters) {
	before.disks, end.disks = slices.Clone(before.disks), slices.Clone(end.disks)
	first, last := s.row(0), s.row(s.taken-1)
	for k := range min(len(before.disks), len(end.disks)) {
		from, to := &before.disks[k], &end.disks[k]
		i := slices.Index(s.disks, to.name)
		if i < 0 {
			continue
		}
		if delta(first, last, s.disk(i)+gapsAt) > 0 {
			to.kept = kept{}
		}
		for field := range fields {
			// In a long trial, ticks may begin anew more than once.
			if at := s.disk(i) + field; ticks[field] && s.seen[at] {
				from.count[field], to.count[field] = ticksNear(first[at], from.count[field]), ticksNear(last[at], to.count[field])
			}
		}
	}
}

// ticksNear returns what the kernel printed the last 32 bits of, about when a sample had so many ticks.
func ticksNear(sample, printed uint64) uint64 {
	return sample + uint64(int64(int32(uint32(printed-sample))))
}
