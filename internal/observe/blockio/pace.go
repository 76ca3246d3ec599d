package blockio

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxObserved is how many requests of all disks are observed in a second, about: they cost half
	// a percent of one processor. Of a disk with more, at most half as many are in the sample.
	maxObserved = 1 << 14
	// burst is how many more are observed before there is a sample, so that a short trial and what
	// is written back at once are seen as a whole.
	burst = 1 << 14
	// maxShift makes one of 64 windows the smallest sample: that is sixteen windows a second.
	maxShift = 6
	// paceInterval is how often it is decided.
	paceInterval = 50 * time.Millisecond
)

// pace keeps the sample at a size that costs little: the more requests a disk gets, the fewer of its
// windows are in it.
type pace struct {
	quit, done chan struct{}
	err        error
}

// startPace begins to read how many requests the disks get. set tells the programs of how many
// windows one is in a disk's sample, as a power of two, and what was so before.
func startPace(disks []Disk, set func(disk, now, before int) error) *pace {
	p := &pace{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = p.run(disks, set)
	}()
	return p
}

// stop ends it, and returns what went wrong.
func (p *pace) stop() error {
	close(p.quit)
	<-p.done
	return p.err
}

func (p *pace) run(disks []Disk, set func(disk, now, before int) error) error {
	files, completed, rates, shifts := make([]*os.File, len(disks)), make([]uint64, len(disks)), make([]float64, len(disks)), make([]int, len(disks))
	for i, d := range disks {
		// A disk whose counters cannot be read is in the sample as a whole.
		files[i], _ = os.Open(d.stat)
		completed[i] = readCompleted(files[i])
	}
	defer func() {
		for _, f := range files {
			_ = f.Close() // it was only read
		}
	}()
	ticker := time.NewTicker(paceInterval)
	defer ticker.Stop()
	last, left := time.Now(), float64(burst)
	for {
		select {
		case <-p.quit:
			return nil
		case <-ticker.C:
		}
		elapsed := time.Since(last).Seconds()
		last = time.Now()
		for i, f := range files {
			n := readCompleted(f)
			rates[i], completed[i] = float64(n-min(n, completed[i]))/elapsed, n
		}
		left = min(burst, left+(maxObserved-total(rates, math.Inf(1)))*elapsed)
		if left > 0 && slices.Max(shifts) == 0 {
			continue
		}
		left = max(left, 0)
		var errs []error
		for i, shift := range chooseShifts(rates, shifts) {
			if shift != shifts[i] {
				errs = append(errs, set(i, shift, shifts[i]))
				shifts[i] = shift
			}
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("blockio: sampling: %w", err)
		}
	}
}

// readCompleted reads how many requests a disk completed; 0: the kernel does not count them.
func readCompleted(f *os.File) uint64 {
	var b [512]byte
	n, _ := f.ReadAt(b[:], 0) // the end of the file is an error, too
	fields := strings.Fields(string(b[:n]))
	var sum uint64
	for _, at := range []int{0, 4} { // reads and writes
		if at < len(fields) {
			n, _ := strconv.ParseUint(fields[at], 10, 64) // the kernel's
			sum += n
		}
	}
	return sum
}

// chooseShifts returns of how many windows one is to be in the sample of each disk, from their
// requests per second and from what is so now. A sample grows step by step: many requests may come
// again at once.
func chooseShifts(rates []float64, now []int) []int {
	most := float64(maxObserved)
	for total(rates, most) > 2*maxObserved && most > 1 {
		most /= 2
	}
	out := make([]int, len(rates))
	for i, rate := range rates {
		shift := 0
		for rate > most && shift < maxShift && rate > most/2*float64(int(1)<<shift) {
			shift++
		}
		out[i] = max(shift, now[i]-1)
	}
	return out
}

// total is how many requests there are, if of no disk more than most are taken.
func total(rates []float64, most float64) (sum float64) {
	for _, rate := range rates {
		sum += min(rate, most)
	}
	return sum
}

// setSampling tells the programs of how many windows one is in a disk's sample from the next but one
// window on, so that none is in it by half.
func (c *Collector) setSampling(disk, now, before int) error {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return err
	}
	c.sampling[disk] = samplingWord(uint64(t.Nano())>>windowBits+2, now, before) //nolint:gosec // not negative
	return c.collection.Maps[mapSampling].Put(uint32(0), c.sampling)
}

// samplingWord packs what the programs must know of a disk's sample, so that it changes at once.
func samplingWord(from uint64, now, before int) uint64 {
	return from<<samplingFrom | uint64(now)<<samplingNow | uint64(before)<<samplingBefore //nolint:gosec // both at most 63
}
