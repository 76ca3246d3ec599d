package runner

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// quietLimit is how much memory the runner may gather during a trial before its
// garbage is collected after all.
const quietLimit = 512 << 20

// quietly runs f, in which this process waits for another, with the garbage
// collector off, and returns the CPU time that the process itself used meanwhile,
// as a ratio of one core.
func quietly(f func()) float64 {
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(quietLimit)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	start, before := time.Now(), cpuTime()
	f()
	used, elapsed := cpuTime()-before, time.Since(start)
	if elapsed <= 0 {
		return 0
	}
	return used.Seconds() / elapsed.Seconds()
}

// cpuTime is the user and system time of this process without its children.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
