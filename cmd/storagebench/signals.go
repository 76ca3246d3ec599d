package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// signalContext returns a context that the first SIGINT or SIGTERM cancels; the
// second ends the program at once. stopped returns the exit code that a shell
// reports for a program killed by the signal.
func signalContext(parent context.Context) (ctx context.Context, stopped func() (int, bool)) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	var code atomic.Int32
	go func() {
		if s, ok := (<-signals).(syscall.Signal); ok {
			code.Store(128 + int32(s))
		}
		signal.Stop(signals)
		cancel()
	}()
	return ctx, func() (int, bool) { return int(code.Load()), code.Load() != 0 }
}
