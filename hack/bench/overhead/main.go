// Command overhead compares what storagebench measures with what fio prints when it
// is run by hand, so that nobody has to believe that the one does not disturb the
// other.
//
// Both run the same job on the same file, in an ext4 file system on a loop device: the
// one in a worker's Pod, as the operator makes it, the other bare on the node. The loop
// device's file lies in memory, as a disk would hide in its own waiting what a worker
// adds to each request.
//
// A machine that others use too changes its speed by ten percent from one second to the
// next, and as much from one minute to the next, so that longer runs tell no more than
// short ones. Therefore both run at the same time and take turns of some hundredths of a
// second: while the one runs, all processes of the other stand still, the runner with its
// fio. Each is given half of the time, and a pair is what both say of the same minute.
// What is reported is the ratio of the medians, worker to bare, with its 95 % interval
// from resampling pairs. As the medians of both come from the same few pairs where the
// speed drifts, few long pairs make it narrower than many short ones.
//
// Smaller requests (-bs 4k) show more of what being in a Pod adds to each, as little else
// is done for them.
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

// What is promised.
const (
	lowest, highest = 0.98, 1.02
	mostCPU         = 0.02
)

func main() {
	s := settings{}
	flag.IntVar(&s.effort.Min, "min", 12, "fewest pairs")
	flag.IntVar(&s.effort.Max, "max", 18, "most pairs")
	flag.Float64Var(&s.effort.HalfWidth, "half-width", 0.01, "half-width of the interval that is narrow enough")
	flag.IntVar(&s.trials, "trials", 3, "pairs of a worker")
	flag.DurationVar(&s.runtime, "runtime", time.Minute, "duration of a trial, and of the bare run beside it")
	flag.DurationVar(&s.turn, "turn", 25*time.Millisecond, "how long one runs while the other stands still")
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
	for s.effort.More(r) {
		worker, bare, err := b.pairs(ctx)
		if err != nil {
			return "", false, err
		}
		for i := range worker {
			r = r.Add(worker[i], bare[i])
			fmt.Fprintf(os.Stderr, "worker %.0f, bare %.0f operations/s, %.4f\n", worker[i], bare[i], worker[i]/bare[i])
		}
		fmt.Fprintf(os.Stderr, "%d pairs: ratio of medians so far %.4f (%.4f to %.4f)\n", len(r.A), r.Ratio, r.Low, r.High)
	}
	share := stats.Median(b.cpu)
	line = fmt.Sprintf("fio in a worker/fio bare %.3f (95 %% interval %.3f to %.3f, wanted within %.2f to %.2f), %d pairs of %s at %.0f operations/s; runner %.2f %% of a core (wanted below %.0f %%)",
		r.Ratio, r.Low, r.High, lowest, highest, len(r.A), s.runtime, r.MedianB(), 100*share, 100*mostCPU)
	return line, r.Low >= lowest && r.High <= highest && share < mostCPU, nil
}
