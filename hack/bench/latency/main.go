// Command latency measures what the operator adds to the time of a benchmark: from
// the creation of the StorageBenchmark to fio's first I/O, and from fio's last I/O
// to the finished status. Each run is paired with a bare Job with the same volume,
// image, node and fio job, so that the cluster's own time cancels out.
//
// fio reports the times of the first and last I/O: the end is timestamp_ms of its
// output, and the start is that minus job_runtime. This program's clock gives the
// times of creation and of the finished status; it runs on the machine of the
// nodes.
//
//	latency [-pairs 10] [-limit 2s]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"storagebench.io/storagebench/hack/bench/lab"
	"storagebench.io/storagebench/internal/stats"
)

// timing of one run.
type timing struct{ start, end time.Duration }

func main() {
	pairs := flag.Int("pairs", 10, "runs of each kind")
	limit := flag.Duration("limit", 2*time.Second, "largest overhead of the start and of the end")
	flag.Parse()
	os.Exit(run(*pairs, *limit))
}

// run prints the closing line and returns the exit code.
func run(pairs int, limit time.Duration) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(pairs)*2*time.Minute)
	defer cancel()
	line, ok, err := compare(ctx, pairs, limit)
	if err != nil {
		line, ok = err.Error(), false
	}
	word := "ok"
	if !ok {
		word = "short"
	}
	fmt.Printf("bench-latency: %s: %s\n", word, line)
	if !ok {
		return 1
	}
	return 0
}

// compare runs the pairs and sums them up.
func compare(ctx context.Context, pairs int, limit time.Duration) (line string, ok bool, err error) {
	cluster, err := lab.New(ctx, "bench-latency")
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	b := &bench{Lab: cluster}
	var ours, bare []timing
	for i := range pairs {
		// ABBA: a drift over time affects both alike.
		order := []func(context.Context, int) (timing, error){b.runBenchmark, b.runJob}
		if i%2 == 1 {
			order[0], order[1] = order[1], order[0]
		}
		var got [2]timing
		for j, run := range order {
			if got[j], err = run(ctx, i); err != nil {
				return "", false, fmt.Errorf("pair %d: %w", i+1, err)
			}
		}
		if i%2 == 1 {
			got[0], got[1] = got[1], got[0]
		}
		ours, bare = append(ours, got[0]), append(bare, got[1])
		fmt.Fprintf(os.Stderr, "pair %d/%d: start %s, bare Job %s; end %s, bare Job %s\n", i+1, pairs,
			round(got[0].start), round(got[1].start), round(got[0].end), round(got[1].end))
	}
	start, startOK := sumUp("to the first I/O", ours, bare, func(t timing) time.Duration { return t.start }, limit)
	end, endOK := sumUp("from the last I/O to the end", ours, bare, func(t timing) time.Duration { return t.end }, limit)
	return fmt.Sprintf("%s; %s; %d pairs, limit %s", start, end, pairs, limit), startOK && endOK, nil
}

// sumUp returns the medians and the paired difference with its interval.
func sumUp(what string, ours, bare []timing, pick func(timing) time.Duration, limit time.Duration) (string, bool) {
	var a, b, diff []float64
	for i := range ours {
		a = append(a, pick(ours[i]).Seconds())
		b = append(b, pick(bare[i]).Seconds())
		diff = append(diff, a[i]-b[i])
	}
	over := stats.Median(diff)
	interval := "no interval below 6 pairs"
	if low, high, ok := stats.MedianInterval(diff, 0.95); ok {
		interval = fmt.Sprintf("95 %% interval %+.2f to %+.2f s", low, high)
	}
	return fmt.Sprintf("%s %.2f s, bare Job %.2f s, overhead %+.2f s (%s)", what, stats.Median(a), stats.Median(b), over, interval),
		over < limit.Seconds()
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
