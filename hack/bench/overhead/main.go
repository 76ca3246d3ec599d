// Command overhead compares what storagebench measures with what fio prints when it
// is run by hand, so that nobody has to believe that the one does not disturb the
// other.
//
// Both run the same job on the same ext4 file system of a loop device, on files that
// were written in the same way: the one in a worker's Pod, as the operator makes it,
// the other bare on the node. They take turns within seconds, as a shared disk changes
// its speed within minutes: a trial of the worker begins with a delay, and in that the
// job runs bare. In every other worker a bare run is compared with the trial behind it,
// in the others a trial with the bare run behind it, so that a drift falls on both.
// What is reported is the ratio of the medians, worker to bare, with its 95 % interval
// from resampling pairs.
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
	delay         time.Duration
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
	flag.IntVar(&s.effort.Min, "min", 30, "fewest pairs")
	flag.IntVar(&s.effort.Max, "max", 120, "most pairs")
	flag.Float64Var(&s.effort.HalfWidth, "half-width", 0.008, "half-width of the interval that is narrow enough")
	flag.IntVar(&s.trials, "trials", 15, "pairs of a worker")
	flag.DurationVar(&s.runtime, "runtime", 4*time.Second, "duration of a trial")
	flag.DurationVar(&s.delay, "delay", 5*time.Second, "how long a trial waits for the bare run before it: more than runtime and fio's start take")
	flag.StringVar(&s.rw, "rw", "randread", "fio's rw")
	flag.StringVar(&s.bs, "bs", "64k", "fio's bs")
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
	cluster.Poll = time.Second
	b := &bench{settings: s, Lab: cluster, fios: fios{}}
	if err := b.prepare(ctx); err != nil {
		return "", false, errors.Join(err, b.unmount())
	}
	defer func() { err = errors.Join(err, b.unmount()) }()

	var r paired.Result
	for bareFirst := true; s.effort.More(r); bareFirst = !bareFirst {
		worker, bare, err := b.turn(ctx, bareFirst)
		if err != nil {
			return "", false, err
		}
		for i := range worker {
			if worker[i] > 0 && bare[i] > 0 {
				r = r.Add(worker[i], bare[i])
			}
		}
		fmt.Fprintf(os.Stderr, "%d pairs: worker %.0f, bare %.0f operations/s; ratio so far %.4f (%.4f to %.4f)\n", len(r.A), r.MedianA(), r.MedianB(), r.Ratio, r.Low, r.High)
		if len(r.A) == 0 {
			return "", false, fmt.Errorf("no bare run fits into a delay of %s: make it longer with -delay", s.delay)
		}
	}
	share := stats.Median(b.cpu)
	line = fmt.Sprintf("fio in a worker/fio bare %.3f (95 %% interval %.3f to %.3f, wanted within %.2f to %.2f), %d pairs of %s at %.0f operations/s; runner %.2f %% of a core (wanted below %.0f %%)",
		r.Ratio, r.Low, r.High, lowest, highest, len(r.A), s.runtime, r.MedianB(), 100*share, 100*mostCPU)
	return line, r.Low >= lowest && r.High <= highest && share < mostCPU, nil
}
