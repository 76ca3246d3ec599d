// Command overhead compares what storagebench measures with what fio prints when
// run by hand. It shows how little storagebench disturbs fio.
//
// Both run the same job on the same file, in an ext4 file system on a loop device: one
// in a worker's Pod, as the operator creates it, the other bare on the node. The loop
// device's file is in memory, because a disk's own latency would hide what a worker
// adds to each request.
//
// The speed of a shared machine changes by ten percent from one second to the next, and
// as much from one minute to the next, so that longer runs tell no more than short ones.
// Therefore both run at the same time and take turns of some hundredths of a second:
// while one runs, all processes of the other are stopped, including the runner with its
// fio. Each gets half of the time, and a pair is the two rates of the same seconds.
//
// What counts is the median of the pairs' ratios, worker to bare, with its 95 %
// interval. The output also has the ratio of the medians, with its interval from
// resampling pairs. While the machine's speed drifts by a third, that ratio comes from
// one or two pairs, and more pairs do not make its interval narrower.
//
// Smaller requests (-bs 4k) show more of what a Pod adds to each, because they cost
// little else.
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
	delay, turn   time.Duration
	backing       string
	rw, bs, depth string
	size          string
}

// Limits.
const (
	lowest, highest = 0.98, 1.02
	mostCPU         = 0.02
)

func main() {
	s := settings{}
	flag.IntVar(&s.effort.Min, "min", 30, "fewest pairs")
	flag.IntVar(&s.effort.Max, "max", 90, "most pairs")
	flag.Float64Var(&s.effort.HalfWidth, "half-width", 0.01, "half-width of an interval that is narrow enough")
	flag.IntVar(&s.trials, "trials", 10, "pairs of a worker")
	flag.DurationVar(&s.runtime, "runtime", 6*time.Second, "duration of a trial, and of the bare run beside it")
	flag.DurationVar(&s.turn, "turn", 25*time.Millisecond, "how long one runs while the other is stopped")
	flag.DurationVar(&s.delay, "delay", 2*time.Second, "how long a trial waits for the bare run to start")
	flag.StringVar(&s.backing, "backing", "/dev/shm", "directory of the file under the loop device")
	flag.StringVar(&s.rw, "rw", "randread", "fio's rw")
	flag.StringVar(&s.bs, "bs", "256k", "fio's bs")
	flag.StringVar(&s.depth, "iodepth", "4", "fio's iodepth")
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
	cluster.Poll = time.Second
	b := &bench{settings: s, Lab: cluster, fios: fios{}}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.prepare(ctx); err != nil {
		return "", false, err
	}

	var r paired.Result
	var pairwise paired.Estimate
	for s.effort.More(paired.Result{Estimate: pairwise, A: r.A}) {
		worker, bare, err := b.pairs(ctx)
		if err != nil {
			return "", false, err
		}
		for i := range worker {
			r = s.effort.With(r, worker[i], bare[i])
			fmt.Fprintf(os.Stderr, "worker %.0f, bare %.0f operations/s, %.4f\n", worker[i], bare[i], worker[i]/bare[i])
		}
		pairwise = paired.MedianOfRatios(r.A, r.B)
		fmt.Fprintf(os.Stderr, "%d pairs: median ratio so far %.4f (%.4f to %.4f)\n", len(r.A), pairwise.Ratio, pairwise.Low, pairwise.High)
	}
	share := stats.Median(b.cpu)
	line = fmt.Sprintf("fio in a worker/fio bare, median of pairs %.3f (95 %% interval %.3f to %.3f, wanted within %.2f to %.2f), ratio of medians %.3f (%.3f to %.3f), %d pairs of %s at %.0f operations/s; runner %.2f %% of a core (wanted below %.0f %%)",
		pairwise.Ratio, pairwise.Low, pairwise.High, lowest, highest, r.Ratio, r.Low, r.High, len(r.A), s.runtime, r.MedianB(), 100*share, 100*mostCPU)
	return line, pairwise.Low >= lowest && pairwise.High <= highest && share < mostCPU, nil
}
