package tool

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Schedule is what the scheduler did with the threads of a program.
type Schedule struct {
	// Ran is the time they had a CPU, and Waited how long they could run and had none.
	Ran, Waited time.Duration
	// Slices is how often they were given one.
	Slices uint64
}

// Add adds what another thread did.
func (s *Schedule) Add(o Schedule) {
	s.Ran, s.Waited, s.Slices = s.Ran+o.Ran, s.Waited+o.Waited, s.Slices+o.Slices
}

// Since is what a thread did after earlier.
func (s Schedule) Since(earlier Schedule) Schedule {
	if s.Slices < earlier.Slices {
		return Schedule{}
	}
	return Schedule{Ran: s.Ran - earlier.Ran, Waited: s.Waited - earlier.Waited, Slices: s.Slices - earlier.Slices}
}

// ParseSchedule reads a schedstat file of a thread: nanoseconds on a CPU, nanoseconds of
// waiting for one, and slices.
func ParseSchedule(text []byte) (s Schedule, ok bool) {
	fields := bytes.Fields(text)
	if len(fields) != 3 {
		return s, false
	}
	ran, err1 := strconv.ParseInt(string(fields[0]), 10, 64)
	waited, err2 := strconv.ParseInt(string(fields[1]), 10, 64)
	slices, err3 := strconv.ParseUint(string(fields[2]), 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return s, false
	}
	return Schedule{Ran: time.Duration(ran), Waited: time.Duration(waited), Slices: slices}, true
}

const (
	// scheduleOften is how often the threads are looked at in the first ten seconds, and
	// scheduleSeldom later: what a thread did after the last look is lost.
	scheduleOften  = 200 * time.Millisecond
	scheduleSeldom = time.Second
	scheduleBegin  = 10 * time.Second
	// maxThreads is how many threads are looked at, which costs some microseconds each.
	maxThreads = 64
)

// Scheduler looks at a program's threads while it runs.
type Scheduler struct {
	proc          string
	threads       map[string]Schedule
	stop, stopped chan struct{}
}

// WatchSchedule looks at the threads of process pid, from now until End. Proc is /proc, or in tests a directory like it.
func WatchSchedule(proc string, pid int) *Scheduler {
	s := &Scheduler{
		proc: filepath.Join(proc, strconv.Itoa(pid), "task"), threads: map[string]Schedule{},
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go s.run()
	return s
}

func (s *Scheduler) run() {
	defer close(s.stopped)
	begin := time.Now()
	ticker := time.NewTicker(scheduleOften)
	defer ticker.Stop()
	often := true
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		s.look()
		if often && time.Since(begin) > scheduleBegin {
			often = false
			ticker.Reset(scheduleSeldom)
		}
	}
}

// look reads what each thread has done. Those that have ended keep what was read last.
func (s *Scheduler) look() {
	dir, err := os.Open(s.proc)
	if err != nil {
		return // it has ended
	}
	names, _ := dir.Readdirnames(maxThreads) // those that can be read
	_ = dir.Close()                          // it was only read
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(s.proc, name, "schedstat"))
		if err != nil {
			continue
		}
		if schedule, ok := ParseSchedule(text); ok && (len(s.threads) < 16*maxThreads || s.threads[name].Slices > 0) {
			s.threads[name] = schedule
		}
	}
}

// End stops looking, and returns what all threads did.
func (s *Scheduler) End() (sum Schedule) {
	close(s.stop)
	<-s.stopped
	for _, thread := range s.threads {
		sum.Add(thread)
	}
	return sum
}
