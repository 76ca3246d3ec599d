// Command workloads compares our own engines with the programs that they replace: a
// loop in C, dd, the original PostMark. A slower engine would measure itself and not
// the storage.
//
// Both sides of a comparison do the same work on the same file system. They alternate
// in pairs whose order changes (package paired), and what counts is the ratio of the
// median rates, which must reach a minimum; its interval shows how reliable it is. The
// engine is run through the interface that the runner uses, and its rate is the one
// that it reports.
//
// Every entry prints one line; the last line is the verdict of all.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"storagebench.io/storagebench/hack/bench/paired"
)

// entry is one line of what is printed: a comparison, or a check of something else.
type entry interface {
	id() string
	// run returns a description of the result, and whether the result is good
	// enough.
	run(ctx context.Context, l *lab, effort paired.Effort) (figure string, ok bool, err error)
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == childArgument {
		runChild(context.Background())
		return
	}
	flags := flag.NewFlagSet("bench-workloads", flag.ExitOnError)
	effort := paired.Effort{}
	flags.IntVar(&effort.Min, "min", 12, "fewest pairs, at least 12")
	flags.IntVar(&effort.Max, "max", 200, "most pairs")
	flags.Float64Var(&effort.HalfWidth, "half-width", 0.01, "half-width of an interval that is narrow enough")
	only := flags.String("only", "", "names of what to run, with commas between; default: everything")
	memory := flags.String("memory", "/dev/shm", "directory on tmpfs, for files and for the backing of loop devices")
	entries := slices.Concat(
		filesyncEntries(flags),
		bandwidthEntries(flags),
		postmarkEntries(flags),
	)
	_ = flags.Parse(os.Args[1:]) // it exits
	effort.Min = max(effort.Min, 12)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	line, ok, err := run(ctx, chosen{entries, *only}, *memory, effort)
	stop()
	if err != nil {
		line, ok = err.Error(), false
	}
	if !ok {
		fmt.Println("bench-workloads: short: " + line)
		os.Exit(1)
	}
	fmt.Println("bench-workloads: ok: " + line)
}

// chosen are the entries, of which only those named are run.
type chosen struct {
	entries []entry
	only    string
}

func (c chosen) list() ([]entry, error) {
	if c.only == "" {
		return c.entries, nil
	}
	var list []entry
	for name := range strings.SplitSeq(c.only, ",") {
		i := slices.IndexFunc(c.entries, func(e entry) bool { return e.id() == name })
		if i < 0 {
			var names []string
			for _, e := range c.entries {
				names = append(names, e.id())
			}
			return nil, fmt.Errorf("there is no entry %q; use one of %s", name, strings.Join(names, ", "))
		}
		list = append(list, c.entries[i])
	}
	return list, nil
}

// run prints a line for each entry and returns the verdict. An entry that cannot be
// run does not keep the others from it.
func run(ctx context.Context, c chosen, memory string, effort paired.Effort) (line string, ok bool, err error) {
	list, err := c.list()
	if err != nil {
		return "", false, err
	}
	var short []string
	for _, e := range list {
		figure, ok, err := inLab(ctx, e, memory, effort)
		if ctx.Err() != nil {
			return "", false, ctx.Err()
		}
		word := "ok"
		if err != nil {
			figure, ok = strings.ReplaceAll(err.Error(), "\n", "; "), false
		}
		if !ok {
			word = "short"
			short = append(short, e.id())
		}
		fmt.Printf("%s: %s: %s\n", e.id(), word, figure)
	}
	if len(short) > 0 {
		return fmt.Sprintf("%d of %d: %s", len(short), len(list), strings.Join(short, ", ")), false, nil
	}
	return fmt.Sprintf("%d of %d", len(list), len(list)), true, nil
}

// inLab runs an entry in its own lab, and removes the lab afterwards.
func inLab(ctx context.Context, e entry, memory string, effort paired.Effort) (figure string, ok bool, err error) {
	l, err := newLab(memory)
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	return e.run(ctx, l, effort)
}
