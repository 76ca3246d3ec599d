// Command overhead compares what storagebench measures with what fio prints when it
// is run by hand, so that nobody has to believe that the one does not disturb the
// other.
//
// Both run the same job in the same directory, of an ext4 file system on a loop
// device, on files that were written in the same way. They alternate, in pairs whose
// order changes (ABBA), so that a drift of the machine falls on both. Each
// storagebench run is a process of its own, with one trial. What is reported is the
// ratio of the medians of the rates, storagebench to fio by hand, with its 95 %
// interval from resampling pairs.
//
// On a machine that others share, a pair says little, and it takes many. Pairs are
// added until the interval is narrow (its half-width, not its place, decides), or
// until there are too many; never less than -min.
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

	"storagebench.io/storagebench/hack/bench/paired"
	"storagebench.io/storagebench/hack/bench/volume"
	"storagebench.io/storagebench/internal/stats"
)

type settings struct {
	effort        paired.Effort
	runtime       time.Duration
	rw, bs, depth string
	size          string
	backing       string
}

// What is promised.
const (
	lowest, highest = 0.98, 1.02
	mostCPU         = 0.02
)

func main() {
	s := settings{}
	flag.IntVar(&s.effort.Min, "min", 12, "fewest pairs")
	flag.IntVar(&s.effort.Max, "max", 300, "most pairs")
	flag.Float64Var(&s.effort.HalfWidth, "half-width", 0.01, "half-width of the interval that is narrow enough")
	flag.DurationVar(&s.runtime, "runtime", time.Second, "duration of a trial")
	flag.StringVar(&s.rw, "rw", "randrw", "fio's rw")
	flag.StringVar(&s.bs, "bs", "4k", "fio's bs")
	flag.StringVar(&s.depth, "iodepth", "8", "fio's iodepth")
	flag.StringVar(&s.size, "size", "64M", "fio's size")
	flag.StringVar(&s.backing, "backing", "/dev/shm", "directory for the loop device's file; in memory, the processor is all there is to disturb")
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

// compare makes the loop device, runs the pairs and sums them up.
func compare(ctx context.Context, s settings) (line string, ok bool, err error) {
	v, err := volume.New(ctx, s.backing, 512<<20)
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, v.Remove()) }()
	b, err := newBench(ctx, s, v)
	if err != nil {
		return "", false, err
	}
	var cpu []float64
	ours := func(ctx context.Context) (float64, error) {
		run, err := b.withStoragebench(ctx)
		cpu = append(cpu, run.cpu)
		return run.rate, err
	}
	r, err := paired.Compare(ctx, s.effort, ours, b.byHand, func(r paired.Result) {
		n := len(r.A)
		fmt.Fprintf(os.Stderr, "pair %d: by hand %.0f, storagebench %.0f operations/s; ratio so far %.3f (%.3f to %.3f)\n", n, r.B[n-1], r.A[n-1], r.Ratio, r.Low, r.High)
	})
	if err != nil {
		return "", false, err
	}
	share := stats.Median(cpu)
	line = fmt.Sprintf("storagebench/fio by hand %.3f (95 %% interval %.3f to %.3f, wanted %.2f to %.2f), %d pairs of %s at %.0f operations/s; runner %.2f %% of a core (wanted below %.0f %%)",
		r.Ratio, r.Low, r.High, lowest, highest, len(r.A), s.runtime, r.MedianB(), 100*share, 100*mostCPU)
	return line, r.Low >= lowest && r.High <= highest && share < mostCPU, nil
}
