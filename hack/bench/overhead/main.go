// Command overhead compares what storagebench measures with what fio prints when it
// is run by hand, so that nobody has to believe that the one does not disturb the
// other.
//
// Both run the same job on the same ext4 file system of a loop device, on files that
// were written in the same way: the one in a worker's Pod, as the operator makes it,
// the other bare on the node. They take turns, whose order changes (ABBA), so that a
// drift of the machine falls on both. A turn is a worker with many short trials, or
// as many runs of fio; its rate is that of all of them together. What is reported is
// the ratio of the medians of the turns, worker to bare, with its 95 % interval from
// resampling pairs of turns.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"storagebench.io/storagebench/hack/bench/lab"
	"storagebench.io/storagebench/hack/bench/paired"
	"storagebench.io/storagebench/internal/stats"
)

type settings struct {
	effort        paired.Effort
	trials        int
	runtime       time.Duration
	rw, bs, depth string
	size          string
}

// What is promised.
const (
	lowest, highest = 0.98, 1.02
	mostCPU         = 0.02
)

func main() {
	s := settings{}
	flag.IntVar(&s.effort.Min, "min", 12, "fewest pairs of turns")
	flag.IntVar(&s.effort.Max, "max", 40, "most pairs of turns")
	flag.Float64Var(&s.effort.HalfWidth, "half-width", 0.01, "half-width of the interval that is narrow enough")
	flag.IntVar(&s.trials, "trials", 30, "trials of a turn")
	flag.DurationVar(&s.runtime, "runtime", 500*time.Millisecond, "duration of a trial")
	flag.StringVar(&s.rw, "rw", "randrw", "fio's rw")
	flag.StringVar(&s.bs, "bs", "4k", "fio's bs")
	flag.StringVar(&s.depth, "iodepth", "8", "fio's iodepth")
	flag.StringVar(&s.size, "size", "64MiB", "fio's size")
	flag.Parse()
	os.Exit(run(s))
}

// run prints the closing line and returns the exit code.
func run(s settings) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	line, ok, err := compare(ctx, s)
	if err != nil {
		line, ok = err.Error(), false
	}
	word := "ok"
	if !ok {
		word = "short"
	}
	fmt.Printf("bench-overhead: %s: %s\n", word, line)
	if !ok {
		return 1
	}
	return 0
}

// compare makes the volume, runs the pairs and sums them up.
func compare(ctx context.Context, s settings) (line string, ok bool, err error) {
	cluster, err := lab.New(ctx, "bench-overhead")
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	b := &bench{settings: s, Lab: cluster}
	if err := b.prepare(ctx); err != nil {
		return "", false, errors.Join(err, b.unmount())
	}
	defer func() { err = errors.Join(err, b.unmount()) }()

	r, err := paired.Compare(ctx, s.effort, b.inWorker, b.bare, func(r paired.Result) {
		n := len(r.A)
		fmt.Fprintf(os.Stderr, "pair %d: worker %.0f, bare %.0f operations/s; ratio so far %.4f (%.4f to %.4f)\n", n, r.A[n-1], r.B[n-1], r.Ratio, r.Low, r.High)
	})
	if err != nil {
		return "", false, err
	}
	share := stats.Median(b.cpu)
	line = fmt.Sprintf("fio in a worker/fio bare %.3f (95 %% interval %.3f to %.3f, wanted within %.2f to %.2f), %d pairs of %d × %s at %.0f operations/s; runner %.2f %% of a core (wanted below %.0f %%)",
		r.Ratio, r.Low, r.High, lowest, highest, len(r.A), s.trials, s.runtime, r.MedianB(), 100*share, 100*mostCPU)
	return line, r.Low >= lowest && r.High <= highest && share < mostCPU, nil
}
