package observe

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// Short is the interval of trials that are expected to take less than ten seconds, or
	// nobody knows how long.
	Short = 100 * time.Millisecond
	// Long is the interval of the others.
	Long = time.Second
	// maxSamples is how many are kept. Beyond that, every second one is dropped, and
	// the interval is twice as long.
	maxSamples = 2048
	// shortSamples is how many of a trial of unknown length are taken in the Short
	// interval, before it has taken so long that the Long one will do.
	shortSamples = 100
	// maxDisks bounds how many disks are sampled: those of the target first.
	maxDisks = 32
	// bufferSize is for the largest file, txgs of a pool with its history of 100.
	bufferSize = 32 << 10
)

// Places of numbers in a row. Those of the disks come after them, one after the other.
const (
	elapsedAt   = 0                      // nanoseconds since the start
	cpuAt       = elapsedAt + 1          // user nice system idle iowait irq softirq steal
	memoryAt    = cpuAt + 8              // Dirty, Writeback, in KiB
	pressureAt  = memoryAt + 2           // cpu, io, memory: some and full, in µs
	usageAt     = pressureAt + 6         // CPU time of the cgroup: v2 in µs, v1 in ns
	throttledAt = usageAt + 2            // for each cgroup upwards: periods, v2 in µs, v1 in ns
	limitsAt    = throttledAt + 3*levels // read bytes, write bytes, reads, writes
	arcAt       = limitsAt + 4           // hits, misses, size, hits of what is being read, and of what was read ahead
	zilAt       = arcAt + 6              // commits
	groupsAt    = zilAt + 1              // number of the last transaction group
	machineEnd  = groupsAt + 1

	levels = 4 // of cgroups

	cgroupAt = fields       // after a disk's own counters: bytes that the cgroup read, and wrote
	offAt    = cgroupAt + 2 // 1 if its counters are turned off
	gapsAt   = offAt + 1    // how many samples found that it was not counted all the time since the one before
	diskSize = gapsAt + 1
)

// Sampler reads the kernel's counters again and again while a trial runs. It opens all files
// and takes all memory before, so that a sample allocates nothing.
type Sampler struct {
	watch   Watch
	disks   []string
	sources []source
	// seen tells which numbers of a row are read at all.
	seen map[int]bool

	begin    time.Time
	interval time.Duration
	// adapt: the trial's length is unknown.
	adapt bool

	width, taken int
	rows         []uint64
	buffer       []byte

	stop, stopped chan struct{}
}

// Start begins to sample, for a trial that is expected to take so long; 0: nobody knows.
func (w Watch) Start(expected time.Duration) *Sampler {
	s := w.newSampler()
	s.interval = Long
	if expected < 10*time.Second {
		s.interval, s.adapt = Short, expected <= 0
	}
	s.begin = time.Now()
	s.sample(0)
	go s.run()
	return s
}

// newSampler opens what there is to read.
func (w Watch) newSampler() *Sampler {
	s := &Sampler{watch: w, seen: map[int]bool{}, stop: make(chan struct{}), stopped: make(chan struct{})}
	for _, name := range slices.Concat(w.Target, w.Below, w.Others) {
		if len(s.disks) < maxDisks && !slices.Contains(s.disks, name) {
			s.disks = append(s.disks, name)
		}
	}
	s.width = machineEnd + diskSize*len(s.disks)
	s.add("proc/stat", cpuAt, 8, func(text []byte, row []uint64) { numbers(after(text, "cpu "), row[:8]) })
	s.add("proc/meminfo", memoryAt, 2, keyed("Dirty:", "Writeback:"))
	for i, name := range []string{"cpu", "io", "memory"} {
		s.add(filepath.Join("proc/pressure", name), pressureAt+2*i, 2, pressures)
	}
	s.addCgroups()
	if w.ZFS {
		s.add("proc/spl/kstat/zfs/arcstats", arcAt, 6, kstats(arcHits+" ", arcMisses+" ", "size ", arcIOHits+" ", arcPredicted+" ", arcPrescient+" "))
		s.add("proc/spl/kstat/zfs/zil", zilAt, 1, kstats("zil_commit_count "))
		if w.Pool != "" {
			s.add(filepath.Join("proc/spl/kstat/zfs", w.Pool, "txgs"), groupsAt, 1, lastNumber)
		}
	}
	for i, name := range s.disks {
		stat := filepath.Join("sys/block", name, "stat")
		if s.open(stat, s.disk(i), diskNumbers) {
			for field, k := range keptOf(w.Root, name, len(strings.Fields(read(w.Root, stat)))) {
				s.seen[s.disk(i)+field] = k
			}
		}
		if file := switchOf(w.Root, name); file != "" {
			s.open(file, s.disk(i), diskSwitch)
		}
	}
	s.rows = make([]uint64, maxSamples*s.width)
	s.buffer = make([]byte, bufferSize)
	return s
}

// disk is where the numbers of a disk begin.
func (s *Sampler) disk(i int) int { return machineEnd + diskSize*i }

// add opens a file of n numbers.
func (s *Sampler) add(path string, at, n int, parse func(text []byte, row []uint64)) {
	if s.open(path, at, parse) {
		for i := range n {
			s.seen[at+i] = true
		}
	}
}

// addCgroups opens the files of the cgroups, from this process's own upwards.
func (s *Sampler) addCgroups() {
	var devices []string
	numbers := make([]string, len(s.disks))
	// A device above all disks does at least what each of them does, so that its limit can be taken for theirs.
	for _, name := range slices.Concat(s.watch.Uncounted, s.watch.Above) {
		if number := deviceNumber(s.watch.Root, name); number != "" {
			devices = append(devices, number)
		}
	}
	for i, name := range s.disks {
		numbers[i] = deviceNumber(s.watch.Root, name)
		if numbers[i] != "" && (slices.Contains(s.watch.Target, name) || slices.Contains(s.watch.Below, name)) {
			devices = append(devices, numbers[i])
		}
	}
	level, own := 0, map[string]bool{}
	cgroupDirs(s.watch.Root, func(controller, dir string) {
		switch controller {
		case "", "cpu":
			at := throttledAt + 3*level
			if level < levels && s.open(filepath.Join(dir, "cpu.stat"), at, keyed("nr_throttled ", "throttled_usec ", "throttled_time ")) {
				level++
				s.seen[at], s.seen[at+1], s.seen[at+2] = true, true, true
				if controller == "" && !s.seen[usageAt] {
					s.add(filepath.Join(dir, "cpu.stat"), usageAt, 1, keyed("usage_usec "))
				}
			}
		case "cpuacct":
			if !s.seen[usageAt+1] {
				s.add(filepath.Join(dir, "cpuacct.usage"), usageAt+1, 1, first)
			}
		}
		if controller != "" && controller != "blkio" {
			return
		}
		for file, keys := range map[string][4]string{
			"io.max":                          {"rbps=", "wbps=", "riops=", "wiops="},
			"blkio.throttle.read_bps_device":  {"", none, none, none},
			"blkio.throttle.write_bps_device": {none, "", none, none}, "blkio.throttle.read_iops_device": {none, none, "", none},
			"blkio.throttle.write_iops_device": {none, none, none, ""},
		} {
			s.add(filepath.Join(dir, file), limitsAt, 4, lowestOf(devices, keys))
		}
		for _, file := range []string{"io.stat", "blkio.throttle.io_service_bytes"} {
			for i, number := range numbers {
				if number == "" || own[number] {
					continue
				}
				at := s.disk(i) + cgroupAt
				if s.open(filepath.Join(dir, file), at, cgroupBytes(number)) {
					own[number] = true
					// Version 1 has no line of a disk without a limit. That is not nothing read.
					if after([]byte(read(s.watch.Root, filepath.Join(dir, file))), number+" ") == nil {
						continue
					}
					s.seen[at], s.seen[at+1] = true, true
				}
			}
		}
	})
}

func (s *Sampler) run() {
	defer close(s.stopped)
	ticker := time.NewTicker(s.interval)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		interval := s.interval
		s.next(time.Since(s.begin))
		if s.interval != interval {
			ticker.Reset(s.interval)
		}
	}
}

// next takes a sample, and makes room for the next one.
func (s *Sampler) next(elapsed time.Duration) {
	s.sample(elapsed)
	switch {
	case s.adapt && s.taken > shortSamples:
		s.adapt = false
		s.coarsen(int(Long / Short))
	case s.taken >= maxSamples-1: // the last row is for the end
		s.coarsen(2)
	}
}

// sample reads everything.
func (s *Sampler) sample(elapsed time.Duration) {
	row := s.rows[s.taken*s.width : (s.taken+1)*s.width]
	if s.taken > 0 { // what cannot be read stands still
		copy(row, s.rows[(s.taken-1)*s.width:])
	}
	clear(row[limitsAt : limitsAt+4])
	row[elapsedAt] = uint64(elapsed)
	for i := range s.sources {
		s.sources[i].read(s.buffer, row)
	}
	s.taken++
}

// Halve drops every second sample of a sampler that has stopped, so that its table has half as
// many rows. It reports whether there was anything to drop.
func (s *Sampler) Halve() bool {
	s.Stop()
	if s.taken < 4 {
		return false
	}
	last := s.row(s.taken - 1)
	s.coarsen(2)
	if s.row(s.taken - 1)[elapsedAt] != last[elapsedAt] {
		copy(s.rows[s.taken*s.width:], last)
		s.taken++
	}
	return true
}

// coarsen keeps every nth sample. As the numbers count up, those between them are not needed.
func (s *Sampler) coarsen(n int) {
	kept := 0
	for i := 0; i < s.taken; i += n {
		copy(s.rows[kept*s.width:(kept+1)*s.width], s.rows[i*s.width:])
		kept++
	}
	s.taken = kept
	s.interval *= time.Duration(n)
}

// Stop takes a last sample and ends. Stopping it again does nothing.
func (s *Sampler) Stop() {
	select {
	case <-s.stopped:
		return
	default:
	}
	close(s.stop)
	<-s.stopped
	s.sample(time.Since(s.begin))
	for _, source := range s.sources {
		_ = syscall.Close(source.fd) // it was only read
	}
	s.sources = nil
}
