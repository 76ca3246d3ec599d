// Command storagebench measures storage: on this machine with run, and in a
// worker's Pod with worker. It says beforehand what a benchmark would do (plan, lint,
// probe), works on benchmarks in a cluster (qualify, create, get, watch, rerun, cancel),
// reads results (report, compare), and output of other tools (import). restore and
// tunables are about a node's settings, and flushcheck about power cuts.
// Verbs have files named after them; get.go also has watch.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload/apart"
	"storagebench.io/storagebench/internal/workload/engines"
)

// Exit codes. A worker has no exitInvalid: see trial.ExitFailed.
const (
	exitDone         = 0
	exitFailed       = int(trial.ExitFailed)
	exitInvalid      = 2
	exitRegression   = 3
	exitInconclusive = 4
)

// outcome is an exit code that is an answer, not an error. The answer is
// already printed.
type outcome int

func (o outcome) Error() string { return fmt.Sprintf("exit code %d", int(o)) }

func main() {
	apart.Become(engines.All())
	os.Exit(run())
}

func run() int {
	ctx, stopped := signalContext(context.Background())
	command, err := newCommand().ExecuteContextC(ctx)
	if _, answered := errors.AsType[outcome](err); err != nil && !answered {
		fmt.Fprintln(&printable{w: os.Stderr}, "error:", err)
	}
	if code, ok := stopped(); ok {
		return code
	}
	code := exitCode(err)
	if code == exitInvalid && command.Name() == workerName {
		code = exitFailed
	}
	return code
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "storagebench",
		Short: "Measure storage, and know what you measured",
		Long: `storagebench measures storage with the same runner on a laptop and in Kubernetes.

Output has colours on a terminal, unless NO_COLOR is set.

Exit codes: 0 done, 1 failed, 2 bad input, 3 a regression or a gate that is missed,
4 inconclusive.`,
		Example: `  # measure a directory of this machine
  storagebench run -f benchmark.yaml --target fast=/mnt/fast

  # is a StorageClass good enough?
  storagebench qualify --storage-class fast --for etcd

  # what has a benchmark in the cluster measured?
  storagebench get flush-cost -n storage-lab

  # is the new firmware slower?
  storagebench compare before/summary.json after/summary.json`,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // it has one of its own
		SilenceErrors:     true,
		Args:              cobra.ArbitraryArgs, // accept them, so that RunE sees a command that does not exist
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("there is no command %q", args[0]), Remedy: suggest.Remedy(args[0], commandNames(cmd))}
		},
	}
	root.SetOut(&printable{w: os.Stdout})
	root.SetErr(&printable{w: os.Stderr})
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newRunCommand(), newPlanCommand(), newLintCommand(), newReportCommand(), newCompareCommand(), newImportCommand(), newProbeCommand(), newFlushcheckCommand(), newTunablesCommand(), newRestoreCommand(), newQualifyCommand(), newGetCommand(), newWatchCommand(), newRerunCommand(), newCancelCommand(), newWorkerCommand(), newCreateCommand(), newCompletionCommand(), newReferenceCommand(), newVersionCommand())
	return root
}

// commandNames returns the commands that a user may have meant.
func commandNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// flagError adds a suggestion to the error about a flag that does not exist.
func flagError(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return usage(err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	given := "--" + unknown.GetSpecifiedName()
	if suggest.Nearest(given, names) == "" {
		return usage(err)
	}
	return &trial.Failure{Class: reason.InvalidSpec, Message: err.Error(), Remedy: suggest.Remedy(given, names), Err: err}
}

// checkOutput refuses an -o format that the command does not support.
func checkOutput(output string, formats ...string) error {
	if slices.Contains(formats, output) {
		return nil
	}
	return &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("-o: there is no format %q", output), Remedy: suggest.Remedy(output, formats)}
}

// usage marks an error of the command line.
func usage(err error) error {
	return &trial.Failure{Class: reason.InvalidSpec, Message: err.Error(), Remedy: "see --help", Err: err}
}

// noArguments refuses every argument that is not a flag, and says how a command takes its file.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && cmd.Flags().Lookup("file") != nil {
		return badInput(args[0], cmd.Name()+" takes its file with -f", "write: storagebench "+cmd.Name()+" -f "+args[0])
	}
	return arguments(0, "only flags")(cmd, args)
}

// arguments expects exactly n arguments; what is their name in the usage line.
func arguments(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usage(fmt.Errorf("expected %s (%s), got %d", suggest.Count(n, "argument"), what, len(args)))
		}
		return nil
	}
}

// required returns an error if one of these flags is not set.
func required(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			return usage(fmt.Errorf("--%s is missing", name))
		}
	}
	return nil
}

// exitCode returns the exit code for an error: bad input or failure.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if o, ok := errors.AsType[outcome](err); ok {
		return int(o)
	}
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok {
		return exitFailed
	}
	switch f.Class {
	case reason.InvalidSpec, reason.InvalidJobFile, reason.PlanTampered, reason.GrantTampered:
		return exitInvalid
	default:
		return exitFailed
	}
}
