// bench-stats simulates experiments and counts how often what package stats promises is broken:
// a difference where there is none, an interval without the truth, a difference that is not
// found, a gate decided wrongly at any of many looks. It prints one line for each kind of
// experiment, and "bench-stats: ok" if all promises are kept. Seeds are fixed.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

func main() {
	n := flag.Int("n", 4000, "experiments of each kind")
	flag.Parse()
	if flag.NArg() > 0 || *n < 100 {
		fmt.Fprintln(os.Stderr, "bench-stats: -n must be at least 100, and there are no arguments")
		os.Exit(2)
	}
	if broken := run(os.Stdout, *n, 0); len(broken) > 0 {
		fmt.Fprintf(os.Stderr, "bench-stats: broken: %s\n", strings.Join(broken, "; "))
		os.Exit(1)
	}
}

// cell is one kind of experiment: how often something happens, and how often it may.
type cell struct {
	promise, name string
	// once reports whether it happened in the experiment of that seed.
	once func(seed uint64) bool
	// most and least that may happen, as a share; most 0 and least 0: it is shown, not promised.
	most, least float64
}

// experiments is how many are made of n that are asked for: gates spend nearly all of their 5 %, so
// that 4,000 would be above it by chance.
func (c cell) experiments(n int) int {
	if c.promise == gateErrs {
		return 5 * n
	}
	return n
}

// run runs every cell n times and writes a line for each, then the worst of each promise. It
// returns what is broken. slack is added to every limit, for fewer experiments.
func run(w io.Writer, n int, slack float64) (broken []string) {
	all := cells()
	counts := make([]int, len(all))
	next, wait := make(chan int), sync.WaitGroup{}
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				for k := range all[i].experiments(n) {
					if all[i].once(uint64(i)<<32 + uint64(k)) {
						counts[i]++
					}
				}
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wait.Wait()
	var promises []string
	worst := map[string]float64{}
	for i, c := range all {
		rate := float64(counts[i]) / float64(c.experiments(n))
		low, high := clopperPearson(counts[i], c.experiments(n))
		kept := "shown"
		switch {
		case c.most > 0:
			kept = fmt.Sprintf("at most %.1f %%", 100*c.most)
		case c.least > 0:
			kept = fmt.Sprintf("at least %.1f %%", 100*c.least)
		}
		if c.most > 0 && rate > c.most+slack || c.least > 0 && rate < c.least-slack {
			kept += ", BROKEN"
			broken = append(broken, fmt.Sprintf("%s, %s: %.1f %%", c.promise, c.name, 100*rate))
		}
		fmt.Fprintf(w, "%-48s %-52s %6.2f %% (%.1f–%.1f)  %s\n", c.promise, c.name, 100*rate, 100*low, 100*high, kept)
		if c.most == 0 && c.least == 0 {
			continue
		}
		if !slices.Contains(promises, c.promise) {
			promises = append(promises, c.promise)
			worst[c.promise] = rate
		}
		if c.most > 0 {
			worst[c.promise] = max(worst[c.promise], rate)
		} else {
			worst[c.promise] = min(worst[c.promise], rate)
		}
	}
	if len(broken) > 0 {
		return broken
	}
	parts := make([]string, 0, len(promises))
	for _, p := range promises {
		parts = append(parts, fmt.Sprintf("%s %.1f %%", p, 100*worst[p]))
	}
	fmt.Fprintf(w, "bench-stats: ok: worst of %d kinds of %d experiments: %s\n", len(all), n, strings.Join(parts, "; "))
	return nil
}

// clopperPearson is the exact 95 % interval of a share of which k of n were seen.
func clopperPearson(k, n int) (low, high float64) {
	high = 1
	if k > 0 {
		low = mathext.InvRegIncBeta(float64(k), float64(n-k+1), 0.025)
	}
	if k < n {
		high = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 0.975)
	}
	return low, high
}
