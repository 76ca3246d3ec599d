package observe

import (
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// Table ends the sampler and returns what was sampled, with what the engine counted itself.
func (s *Sampler) Table(rates []result.Rate) *samples.Table {
	s.Stop()
	t := &samples.Table{}
	ends := s.ends()
	for i := 1; i < len(ends); i++ {
		s.rowsOf(t, s.row(ends[i-1]), s.row(ends[i]))
	}
	s.rates(t, ends, rates)
	return t
}

func (s *Sampler) row(i int) []uint64 { return s.rows[i*s.width : (i+1)*s.width] }

// ends returns the samples between which the intervals are. What is much shorter than the usual
// interval, as the last one can be, belongs to the one before it.
func (s *Sampler) ends() []int {
	ends := []int{0}
	for i := 1; i < s.taken; i++ {
		last := ends[len(ends)-1]
		if len(ends) > 1 && time.Duration(s.row(i)[elapsedAt]-s.row(last)[elapsedAt]) < s.interval/4 {
			ends[len(ends)-1] = i
			continue
		}
		ends = append(ends, i)
	}
	return ends
}

// rowsOf adds the rows of the interval between two samples.
func (s *Sampler) rowsOf(t *samples.Table, from, to []uint64) {
	seconds := float64(to[elapsedAt]-from[elapsedAt]) / 1e9
	if seconds <= 0 {
		return
	}
	at := s.begin.Add(time.Duration(to[elapsedAt]))
	s.machine(t, at, from, to, seconds)
	for i, name := range s.disks {
		begin := s.disk(i)
		if s.seen[begin] {
			s.diskRow(t, t.Add(at, samples.Disk, name), begin, from, to, seconds)
		}
	}
}

// delta is how far a number went. Backwards is nothing, as the kernel's iowait sometimes goes.
func delta(from, to []uint64, at int) float64 {
	if to[at] < from[at] {
		return 0
	}
	return float64(to[at] - from[at])
}

func (s *Sampler) diskRow(t *samples.Table, row, begin int, from, to []uint64, seconds float64) {
	d := func(field int) float64 { return delta(from, to, begin+field) }
	t.Set(row, samples.Seconds, seconds)
	if d(gapsAt) > 0 {
		return
	}
	for _, c := range []struct {
		column samples.Column
		field  int
		value  float64
	}{
		{samples.ReadCount, readIOs, d(readIOs)},
		{samples.ReadMerges, readMerges, d(readMerges)},
		{samples.ReadBytes, readSectors, d(readSectors) * sector},
		{samples.WriteCount, writeIOs, d(writeIOs)},
		{samples.WriteMerges, writeMerges, d(writeMerges)},
		{samples.WriteBytes, writeSectors, d(writeSectors) * sector},
		{samples.DiscardCount, discardIOs, d(discardIOs)},
		{samples.DiscardBytes, discardSectors, d(discardSectors) * sector},
		{samples.InFlight, inFlight, float64(to[begin+inFlight])},
		{samples.QueueDepth, weightedTicks, d(weightedTicks) / 1e3 / seconds},
		{samples.FlushCount, flushIOs, d(flushIOs)},
		{samples.FlushSeconds, flushTicks, d(flushTicks) / 1e3},
	} {
		s.set(t, row, c.column, begin+c.field, c.value)
	}
	if n := d(readIOs); n > 0 {
		t.Set(row, samples.ReadAwait, d(readTicks)/1e3/n)
	}
	if n := d(writeIOs); n > 0 {
		t.Set(row, samples.WriteAwait, d(writeTicks)/1e3/n)
	}
	if s.seen[begin+cgroupAt] {
		t.Set(row, samples.CgroupReadBytes, d(cgroupAt))
		t.Set(row, samples.CgroupWriteBytes, d(cgroupAt+1))
	}
}

func (s *Sampler) machine(t *samples.Table, at time.Time, from, to []uint64, seconds float64) {
	row := t.Add(at, samples.Machine, "")
	t.Set(row, samples.Seconds, seconds)
	s.cpu(t, row, from, to)
	s.set(t, row, samples.DirtyBytes, memoryAt, float64(to[memoryAt])*1024)
	s.set(t, row, samples.WritebackBytes, memoryAt+1, float64(to[memoryAt+1])*1024)
	for i, c := range []samples.Column{samples.PressureCPU, -1, samples.PressureIO, samples.PressureIOFull, samples.PressureMemory, samples.PressureMemoryFull} {
		if c >= 0 { // of the CPU, nobody can tell whether everybody waited
			s.set(t, row, c, pressureAt+i, min(1, delta(from, to, pressureAt+i)/1e6/seconds))
		}
	}
	s.set(t, row, samples.CgroupCPUSeconds, usageAt, delta(from, to, usageAt)/1e6)
	s.set(t, row, samples.CgroupCPUSeconds, usageAt+1, delta(from, to, usageAt+1)/1e9)
	periods, stopped := 0.0, 0.0
	for i := range levels {
		begin := throttledAt + 3*i
		periods = max(periods, delta(from, to, begin))
		stopped = max(stopped, delta(from, to, begin+1)/1e6, delta(from, to, begin+2)/1e9)
	}
	s.set(t, row, samples.CgroupThrottledPeriods, throttledAt, periods)
	s.set(t, row, samples.CgroupThrottledSeconds, throttledAt, stopped)
	for i, c := range []samples.Column{samples.LimitReadBytes, samples.LimitWriteBytes, samples.LimitReadCount, samples.LimitWriteCount} {
		if limit := to[limitsAt+i]; limit > 0 {
			t.Set(row, c, float64(limit))
		}
	}
	had, read := ofARC(delta(from, to, arcAt), delta(from, to, arcAt+1), delta(from, to, arcAt+3), delta(from, to, arcAt+4)+delta(from, to, arcAt+5))
	s.set(t, row, samples.ARCHits, arcAt, had)
	s.set(t, row, samples.ARCMisses, arcAt+1, read)
	s.set(t, row, samples.ARCBytes, arcAt+2, float64(to[arcAt+2]))
	s.set(t, row, samples.ZILCommits, zilAt, delta(from, to, zilAt))
	s.set(t, row, samples.TransactionGroups, groupsAt, delta(from, to, groupsAt))
}

// set sets a value if its number is read at all.
func (s *Sampler) set(t *samples.Table, row int, c samples.Column, at int, value float64) {
	if s.seen[at] {
		t.Set(row, c, value)
	}
}

// cpu sets the shares of all CPUs' time.
func (s *Sampler) cpu(t *samples.Table, row int, from, to []uint64) {
	const user, nice, system, idle, iowait, irq, softirq, steal = 0, 1, 2, 3, 4, 5, 6, 7
	d := func(field int) float64 { return delta(from, to, cpuAt+field) }
	total := 0.0
	for field := range steal + 1 {
		total += d(field)
	}
	if total == 0 {
		return // between two ticks of the clock
	}
	t.Set(row, samples.CPUUser, (d(user)+d(nice))/total)
	t.Set(row, samples.CPUSystem, (d(system)+d(irq)+d(softirq))/total)
	t.Set(row, samples.CPUIdle, d(idle)/total)
	t.Set(row, samples.CPUIOWait, d(iowait)/total)
	t.Set(row, samples.CPUSteal, d(steal)/total)
}

// rates adds what the engine counted. Its intervals are others: each count is spread over those
// that its own overlaps.
func (s *Sampler) rates(t *samples.Table, ends []int, rates []result.Rate) {
	var operations []string
	byOperation := map[string][]result.Rate{}
	for _, r := range rates {
		if byOperation[r.Operation] == nil {
			operations = append(operations, r.Operation)
		}
		byOperation[r.Operation] = append(byOperation[r.Operation], r)
	}
	for _, operation := range operations {
		first, last := covered(byOperation[operation])
		for i := 1; i < len(ends); i++ {
			from, to := s.at(ends[i-1]), s.at(ends[i])
			// The engine starts later than the sampler, and its last interval can be missing.
			seconds := earlier(to, last).Sub(later(from, first)).Seconds()
			if seconds <= 0 {
				continue
			}
			row := t.Add(to, samples.Workload, operation)
			count, bytes := 0.0, 0.0
			for _, r := range byOperation[operation] {
				share := overlap(from, to, r)
				count, bytes = count+share*r.Count, bytes+share*r.Bytes
			}
			t.Set(row, samples.Seconds, seconds)
			t.Set(row, samples.Count, count)
			t.Set(row, samples.Bytes, bytes)
		}
	}
}

func (s *Sampler) at(i int) time.Time { return s.begin.Add(time.Duration(s.row(i)[elapsedAt])) }

// overlap is which share of a rate's interval lies between two moments.
func overlap(from, to time.Time, r result.Rate) float64 {
	length := time.Duration(r.Seconds * 1e9)
	begin, end := later(from, r.End.Add(-length)), earlier(to, r.End)
	if length <= 0 || !end.After(begin) {
		return 0
	}
	return float64(end.Sub(begin)) / float64(length)
}

// covered is the time that rates are about.
func covered(rates []result.Rate) (first, last time.Time) {
	for i, r := range rates {
		begin := r.End.Add(-time.Duration(r.Seconds * 1e9))
		if i == 0 || begin.Before(first) {
			first = begin
		}
		last = later(last, r.End)
	}
	return first, last
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
