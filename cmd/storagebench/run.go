package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/cmd/storagebench/spec"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/report/gather"
	"storagebench.io/storagebench/internal/report/page"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/runner"
	"storagebench.io/storagebench/internal/runner/journal"
	"storagebench.io/storagebench/internal/stats"
	"storagebench.io/storagebench/internal/store/dir"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload/apart"
	"storagebench.io/storagebench/internal/workload/engines"
)

type runFlags struct {
	file    string
	targets []string
	out     string
	output  string
	runID   string
	// observers is what observes the target: all, or basic.
	observers string
}

func newRunCommand() *cobra.Command {
	f := runFlags{}
	cmd := &cobra.Command{
		Use:   "run -f FILE",
		Short: "Run a StorageBenchmark on this machine",
		Long: `Run a StorageBenchmark on this machine, without a cluster: the same plan, the same
runner, and the same result documents, in a directory.

A hostPath or blockDevice target is measured at its own path. A storageClass or
persistentVolumeClaim target needs a path from --target. On a file system, the run writes
its files into a directory of its own and removes that at the end.

If you are root, workloads are not: they run as user 60853, without privileges.

Progress goes to stderr, the results to stdout. --run-id continues a run that was stopped.

Exit codes: 0 every trial was measured and every gate is met, 1 something failed, 2 bad
input, 3 a gate is missed, 4 not all gates are decided.`,
		Example: `  # measure the targets of the file
  storagebench run -f benchmark.yaml

  # measure a directory in place of the target "fast"
  storagebench run -f benchmark.yaml --target fast=/mnt/fast --out results

  # the summary for a program
  storagebench run -f benchmark.yaml -o json | jq .rows`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required(cmd, "file"); err != nil {
				return err
			}
			return runHere(cmd.Context(), f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "file with the StorageBenchmark, or with a schedule of one; - for stdin")
	flags.StringArrayVar(&f.targets, "target", nil, "NAME=PATH: measure PATH, a directory or a block device, as target NAME; may be repeated")
	flags.StringVar(&f.out, "out", "results", "directory for the results")
	flags.StringVarP(&f.output, "output", "o", "table", "output format: table or json")
	flags.StringVar(&f.runID, "run-id", "", "ID of the run; that of a stopped run continues it (default: the time)")
	flags.StringVar(&f.observers, "observers", "all", "what observes the target's disks: all, or basic, without eBPF, which needs root")
	return cmd
}

// localRun is one run on this machine.
type localRun struct {
	plan  *trial.Plan
	paths map[string]string // by target name
	store *dir.Store
	out   string
	// timeout of the whole run.
	timeout time.Duration
	// observeRequests with eBPF.
	observeRequests bool
}

func runHere(ctx context.Context, f runFlags, stdout, stderr io.Writer) error {
	if err := checkOutput(f.output, "table", "json"); err != nil {
		return err
	}
	r, err := prepareRun(ctx, f)
	if err != nil {
		return err
	}
	most, what := "", "target"
	if r.plan.Volumes > 0 {
		what = "worker"
	}
	if r.plan.Stop != nil {
		most = "at most "
	}
	fmt.Fprintf(stderr, "run %s: %s%s on each of %s, results in %s\n",
		r.plan.Run, most, suggest.Count(len(r.plan.Trials), "trial"), suggest.Count(len(r.plan.Workers), what), filepath.Join(r.out, filepath.FromSlash(r.plan.Keys().Prefix())))
	document, _, err := r.plan.Encode()
	if err != nil {
		return err
	}
	if err := r.store.Put(ctx, r.plan.Keys().Plan(), document); err != nil {
		return err
	}
	failure := r.workers(ctx, stderr)
	summary, err := r.summarize(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	if err := printSummary(stdout, f.output, summary); err != nil {
		return err
	}
	if failure != nil {
		if ctx.Err() != nil {
			fmt.Fprintf(stderr, "to continue, run the same command with --run-id %s\n", r.plan.Run)
		}
		return failure
	}
	return answered(summary)
}

func prepareRun(ctx context.Context, f runFlags) (*localRun, error) {
	if f.observers != "all" && f.observers != "basic" {
		return nil, usage(fmt.Errorf("--observers must be all or basic, not %q", f.observers))
	}
	b, err := readBenchmark(ctx, f.file)
	if err != nil {
		return nil, err
	}
	paths, modes, err := targetPaths(b, f.targets)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	runID := f.runID
	if runID == "" {
		runID = time.Now().UTC().Format("20060102-150405")
	}
	if strings.Trim(runID, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(runID) > 80 {
		return nil, usage(fmt.Errorf("--run-id %q is not valid; use up to 80 lowercase letters, digits and -", runID))
	}
	variants, err := ownVariants(b)
	if err != nil {
		return nil, err
	}
	p, err := plan.Build(plan.Input{Benchmark: b, Run: runID, Nodes: []string{host}, Modes: modes, Variants: variants, Engines: engines.All()})
	if err != nil {
		return nil, err
	}
	out, err := filepath.Abs(f.out)
	if err != nil {
		return nil, err
	}
	store, err := dir.New(out)
	if err != nil {
		return nil, err
	}
	return &localRun{plan: p, paths: paths, store: store, out: out, timeout: b.Spec.Timeout.Duration, observeRequests: f.observers == "all"}, nil
}

func readBenchmark(ctx context.Context, file string) (*v1alpha1.StorageBenchmark, error) {
	in := os.Stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, usage(err)
		}
		defer func() { _ = opened.Close() }() // it was only read
		in = opened
	}
	b, err := spec.Read(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return b, nil
}

// workers runs the plan's workers one after the other and returns the first failure.
func (r *localRun) workers(ctx context.Context, stderr io.Writer) error {
	progress := newProgress(stderr)
	defer progress.close()
	deadline := time.Now().Add(r.timeout)
	var first error
	for i, w := range r.plan.Workers {
		share, err := r.share(ctx, i)
		if err != nil {
			return errors.Join(first, err)
		}
		work := filepath.Join(r.out, ".storagebench", r.plan.Run, w.Name)
		receipt := runner.Run(ctx, runner.Options{
			Plan: r.plan, Worker: w.Name, TargetPath: withoutLinks(r.paths[w.Target]), Objects: r.store,
			Spool: filepath.Join(work, "spool"), Scratch: filepath.Join(work, "scratch"),
			Journal: journal.DefaultDir,
			Engines: apart.Engines{Finder: engines.All()}, Timeout: max(time.Second, time.Until(deadline)), Share: share, Version: version(),
			ObserveRequests: r.observeRequests, System: poolSystem(ctx, false), Clock: runner.SystemClock{}, Log: slog.New(progress.logHandler()),
			Progress: func(e runner.Event) { progress.event(w.Target, e) },
		})
		if receipt.Failure != nil && first == nil {
			first = receipt.Failure
		}
		if ctx.Err() != nil {
			return first // the next attempt uploads what is left in the spool
		}
		if receipt.Failure == nil || receipt.Stored == receipt.Planned {
			if err := os.RemoveAll(work); err != nil {
				return err
			}
		}
	}
	return first
}

// withoutLinks is a path as the runner wants it, which follows no link. Here it is the user's
// own, and may hold some. One that does not exist is for the runner to refuse.
func withoutLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return path
}

// summarize folds the workers' summaries and stores the result, and the page that shows it.
func (r *localRun) summarize(ctx context.Context) (result.Summary, error) {
	fold := stats.NewFold(r.plan)
	var trials []report.WorkerTrials
	for _, w := range r.plan.Workers {
		body, err := r.store.Get(ctx, r.plan.Keys().WorkerSummary(w.Name))
		if err != nil {
			continue // the worker failed before it stored anything, and reported that
		}
		s, err := result.DecodeWorkerSummary(body, "")
		if err == nil {
			err = fold.Add(s)
		}
		if err != nil {
			return result.Summary{}, err
		}
		trials = append(trials, report.TrialsOf(s, maxTrialsRead))
	}
	summary := fold.Finish(time.Now().UTC())
	body, err := json.MarshalIndent(summary, "", " ")
	if err != nil {
		return summary, err
	}
	if err := r.store.Put(ctx, r.plan.Keys().Summary(), append(body, '\n')); err != nil {
		return summary, err
	}
	series, left, err := gather.Series(ctx, r.store, r.plan.Keys().Samples, trials, seriesLimits)
	if err != nil {
		return summary, err
	}
	var b bytes.Buffer
	if err := page.Write(&b, page.Input{Summary: summary, Workers: trials, Series: series, SeriesLeft: left, Location: filepath.Join(r.out, filepath.FromSlash(r.plan.Keys().Prefix()))}); err != nil {
		return summary, err
	}
	return summary, r.store.Put(ctx, r.plan.Keys().Report(), b.Bytes())
}
