package native

import (
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/workload/tool"
)

// counter is what a thread has done. Only that thread writes it, and it has cache lines of its
// own, so that counting costs some nanoseconds.
type counter struct {
	count, bytes atomic.Int64
	_            [112]byte
}

// Count counts operations that completed, and the bytes that they moved.
func (t *Thread) Count(operations, bytes int64) {
	t.counter.count.Store(t.counter.count.Load() + operations)
	t.counter.bytes.Store(t.counter.bytes.Load() + bytes)
}

// Pace is what all threads did in one interval.
type Pace struct {
	End time.Time
	// Length of the interval.
	Length time.Duration
	// Count of operations, and bytes that they moved.
	Count, Bytes int64
}

const (
	// meterOften is the interval in the first ten seconds, as nobody knows how long a trial of
	// ours takes, and meterSeldom the one after that.
	meterOften  = 100 * time.Millisecond
	meterSeldom = time.Second
	// meterMarks bounds how many readings are kept. Then the interval is doubled.
	meterMarks = 1024
)

// mark is a reading of the counters.
type mark struct {
	at           time.Duration
	count, bytes int64
}

// meter reads the counters while the threads run.
type meter struct {
	threads       []*Thread
	begin         time.Time
	marks         []mark
	interval      time.Duration
	stop, stopped chan struct{}
}

func newMeter(threads []*Thread) *meter {
	return &meter{
		threads: threads, marks: make([]mark, 0, meterMarks), interval: meterOften,
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// start begins; the threads are let go at the same moment.
func (m *meter) start() {
	m.begin = time.Now()
	m.read(0)
	go m.run()
}

func (m *meter) run() {
	defer close(m.stopped)
	ticker := time.NewTicker(m.interval)
	defer ticker.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-ticker.C:
		}
		m.read(time.Since(m.begin))
		if before := m.interval; m.thin() != before {
			ticker.Reset(m.interval)
		}
	}
}

func (m *meter) read(at time.Duration) {
	now := mark{at: at}
	for _, t := range m.threads {
		now.count, now.bytes = now.count+t.counter.count.Load(), now.bytes+t.counter.bytes.Load()
	}
	m.marks = append(m.marks, now)
}

// thin drops readings when the trial takes long, and returns the interval from now on. What
// was counted between those that stay is not lost.
func (m *meter) thin() time.Duration {
	n := 1
	switch {
	case m.interval == meterOften && len(m.marks) > int(10*time.Second/meterOften):
		n = int(meterSeldom / meterOften)
	case len(m.marks) >= meterMarks-1: // one is for the end
		n = 2
	}
	if n > 1 {
		kept := m.marks[:0]
		for i := 0; i < len(m.marks); i += n {
			kept = append(kept, m.marks[i])
		}
		m.marks, m.interval = kept, m.interval*time.Duration(n)
	}
	return m.interval
}

// end reads for the last time, and returns what happened in each interval.
func (m *meter) end() []Pace {
	close(m.stop)
	<-m.stopped
	m.read(time.Since(m.begin))
	out := make([]Pace, 0, len(m.marks))
	for i := 1; i < len(m.marks); i++ {
		from, to := m.marks[i-1], m.marks[i]
		out = append(out, Pace{End: m.begin.Add(to.at), Length: to.at - from.at, Count: to.count - from.count, Bytes: to.bytes - from.bytes})
	}
	return out
}

// schedule is what the scheduler did with this thread until now; nothing if the kernel does not
// tell.
func schedule() tool.Schedule {
	text, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(unix.Gettid()) + "/schedstat")
	if err != nil {
		return tool.Schedule{}
	}
	s, _ := tool.ParseSchedule(text)
	return s
}
