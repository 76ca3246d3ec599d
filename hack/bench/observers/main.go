// Command observers measures what observing a trial costs it: fio on a loop device in memory, as fast as two
// jobs get, with the observers that a worker has and without, in pairs whose order alternates (package paired).
//
// What an I/O costs more is the more of it, the less an I/O costs itself. The limits are those at about 100,000 I/Os
// per second: fio's blocks are as large as makes its rate without observers the nearest to that. With -block 4096 it is
// the most that the machine gives, or with any other size the rate that this gives.
//
// Two fios run side by side. One of them stands still while the other has a slice of half a second, so that
// the machine's speed is the same for both. What a slice did is read from the disk's counter. Two fios differ, too,
// for as long as they run, by the files, memory and processors that they got: so both are made anew for
// each pair, which is a mean of many slices, and take turns in who is first and has which files.
//
// Side a has all that a worker adds: the sampler at its shortest interval, which long trials do
// not have, fio's notes of its rates, and the looks at the schedule of its threads. With
// -requests, the eBPF programs of package blockio are attached, too, and one more slice tells the time
// that each of them takes. Side b has none of it. The last line is the verdict.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"storagebench.io/storagebench/hack/bench/paired"
	"storagebench.io/storagebench/hack/bench/volume"
	"storagebench.io/storagebench/internal/observe/blockio"
)

// What observers may cost, as a share of the I/Os per second.
const (
	limit         = 0.01
	requestsLimit = 0.03
	// at so many I/Os per second
	wantedRate = 100_000
)

type options struct {
	effort   paired.Effort
	length   time.Duration
	quads    int
	jobs     int
	depth    int
	block    int
	memory   string
	requests bool
}

func main() {
	runtime.LockOSThread() // fio ends with the thread that starts it
	o := options{}
	flags := flag.NewFlagSet("bench-observers", flag.ExitOnError)
	flags.IntVar(&o.effort.Min, "min", 8, "fewest pairs of fios, at least 6")
	flags.IntVar(&o.effort.Max, "max", 60, "most pairs of fios")
	flags.Float64Var(&o.effort.HalfWidth, "half-width", 0.005, "half-width of an interval that is narrow enough")
	flags.DurationVar(&o.length, "slice", 500*time.Millisecond, "length of a slice")
	flags.IntVar(&o.quads, "quads", 8, "how often each pair of fios has two slices of each side")
	flags.IntVar(&o.jobs, "jobs", 2, "jobs of fio")
	flags.IntVar(&o.depth, "depth", 32, "I/Os in flight of each")
	flags.IntVar(&o.block, "block", 0, "size of an I/O in bytes; 0: that which gives about 100,000 per second")
	flags.StringVar(&o.memory, "memory", "/dev/shm", "directory on tmpfs for the device's file")
	flags.BoolVar(&o.requests, "requests", false, "observe the disk's requests with eBPF, too")
	_ = flags.Parse(os.Args[1:]) // it exits
	o.effort.Min, o.effort.Estimate = max(o.effort.Min, 6), paired.MeanOfRatios
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	line, ok, err := o.run(ctx)
	stop()
	if err != nil {
		line, ok = strings.ReplaceAll(err.Error(), "\n", "; "), false
	}
	if !ok {
		fmt.Println("bench-observers: short: " + line)
		os.Exit(1)
	}
	fmt.Println("bench-observers: ok: " + line)
}

func (o options) run(ctx context.Context) (line string, ok bool, err error) {
	debug.SetGCPercent(-1) // as a worker has it during a trial
	debug.SetMemoryLimit(512 << 20)
	v, err := volume.New(ctx, o.memory, 256<<20)
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, v.Remove()) }()
	scratch, err := os.MkdirTemp(o.memory, "storagebench-bench-")
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	b := bench{options: o, volume: v, scratch: scratch}
	if b.block == 0 {
		if b.block, err = b.chooseBlock(ctx); err != nil {
			return "", false, err
		}
	}
	r, err := paired.Together(ctx, o.effort, b.pair, func(r paired.Result) {
		fmt.Printf("\r%d pairs, %.0f and %.0f I/Os per second, ratio %.4f \u00b1 %.4f ", len(r.A), r.MedianA(), r.MedianB(), r.Ratio, r.HalfWidth())
	})
	fmt.Println()
	if err != nil {
		return "", false, err
	}
	if o.requests {
		if err := b.costs(ctx); err != nil {
			return "", false, err
		}
	}
	line, ok = judge(r.Estimate, o.requests)
	return fmt.Sprintf("%s, with I/Os of %d bytes at %.0f per second, %d pairs", line, b.block, r.MedianB(), len(r.A)), ok, nil
}

// chooseBlock returns the size of I/Os whose rate is the nearest to the wanted one.
func (b bench) chooseBlock(ctx context.Context) (int, error) {
	var rates []float64
	for b.block = 4 << 10; b.block <= 64<<10; b.block *= 2 {
		rate, err := b.bareRate(ctx)
		if err != nil {
			return 0, err
		}
		fmt.Printf("blocks of %d bytes: %.0f I/Os per second\n", b.block, rate)
		if rates = append(rates, rate); rate < wantedRate {
			break
		}
	}
	return 4 << 10 << nearest(rates, wantedRate), nil
}

// nearest is the index of the value whose ratio to the wanted one is the nearest to 1.
func nearest(values []float64, wanted float64) (best int) {
	far := func(v float64) float64 { return math.Abs(math.Log(v / wanted)) }
	for i, v := range values {
		if far(v) < far(values[best]) {
			best = i
		}
	}
	return best
}

// bareRate is what a fio that nobody observes gets in a few slices.
func (b bench) bareRate(ctx context.Context) (rate float64, err error) {
	p, err := b.start(ctx, "first", false)
	defer func() { err = errors.Join(err, p.end()) }()
	if err != nil {
		return 0, err
	}
	const slices = 4
	for range slices {
		one, err := b.slice(ctx, p)
		if err != nil {
			return 0, err
		}
		rate += one / slices
	}
	return rate, nil
}

// judge says what the observers cost. It is enough if the estimate is below the limit, and known to
// within the limit.
func judge(e paired.Estimate, requests bool) (line string, ok bool) {
	most, what := limit, "the sampler"
	if requests {
		most, what = requestsLimit, "the sampler and eBPF"
	}
	line = fmt.Sprintf("%s: ratio %.4f (%.4f to %.4f), a cost of %.2f %%, at most %.0f %%", what, e.Ratio, e.Low, e.High, 100*(1-e.Ratio), 100*most)
	return line, 1-e.Ratio < most && e.HalfWidth() < most
}

// bench runs fios on a volume.
type bench struct {
	options
	volume  *volume.Volume
	scratch string
}

// costs prints what the kernel counts of the programs in a run that is not compared: to count
// costs time, too.
func (b bench) costs(ctx context.Context) (err error) {
	c, err := b.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	counting, err := blockio.CountCosts()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counting.Close()) }()
	p, err := b.start(ctx, "first", false) // whose files are there
	defer func() { err = errors.Join(err, p.end()) }()
	if err != nil {
		return err
	}
	rate, err := b.slice(ctx, p)
	if err != nil {
		return err
	}
	empty, err := counting.Empty()
	if err != nil {
		return err
	}
	costs, err := c.Costs()
	if err != nil {
		return err
	}
	fmt.Print(table(costs, empty, rate))
	return nil
}

// table says what the programs cost: each run of one, and in sum each request, both without what an
// empty program costs, which is the counting.
func table(costs []blockio.Cost, empty blockio.Cost, rate float64) string {
	mean := func(c blockio.Cost) float64 { return float64(c.Time) / float64(max(c.Runs, 1)) }
	var out strings.Builder
	requests, sum := uint64(1), 0.0
	for _, c := range costs {
		net := max(0, mean(c)-mean(empty))
		requests, sum = max(requests, c.Runs), sum+net*float64(c.Runs)
		fmt.Fprintf(&out, "%s: %.0f ns, %d times\n", c.Tracepoint, net, c.Runs)
	}
	fmt.Fprintf(&out, "the programs: %.0f ns a request, at %.0f I/Os per second while the kernel counts that, which is %.0f ns for each program\n",
		sum/float64(requests), rate, mean(empty))
	return out.String()
}
