package apart

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// quietLimit is how much memory a process may use during a trial before the garbage
// collector runs after all.
const quietLimit = 512 << 20

// Quietly runs f, in which an engine measures, with the garbage collector off. It returns the
// CPU time of this process, without its children's, and how long f took.
func Quietly(f func()) (own, elapsed time.Duration) {
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(quietLimit)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	start, before := time.Now(), cpuTime()
	f()
	return cpuTime() - before, time.Since(start)
}

// cpuTime is the user and system time of this process without its children.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
