package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/runner"
	"storagebench.io/storagebench/internal/store/presigned"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/workload/apart"
	"storagebench.io/storagebench/internal/workload/engines"
)

// workerFlags are the arguments that the operator puts into a Job.
type workerFlags struct {
	plan, planDigest, worker, targetPath string
	grant, grantDigest                   string
	spool, scratch, receipt              string
	journal                              string
	timeout                              time.Duration
	// share is nil for a plan without a budget.
	share *time.Duration
}

const workerName = "worker"

func newWorkerCommand() *cobra.Command {
	f := workerFlags{}
	var share time.Duration
	cmd := &cobra.Command{
		Use:    workerName,
		Hidden: true, // for Pods
		Short:  "Execute one worker's part of a plan, as the operator's Jobs do",
		Long: `Execute one worker's part of a plan.

Results go to the store through the grant's signed URLs. The receipt tells how many trials
are stored and why the worker failed. Exit codes: 0 every trial is measured and stored;
1 failed, or bad input; 143, or 2 just after the start, stopped, and another attempt will
continue.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := required(cmd, "plan", "plan-digest", "worker", "target-path", "grant", "grant-digest", "spool", "scratch", "receipt")
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("budget-share") { // a share of 0 is one
				f.share = &share
			}
			return runWorker(cmd.Context(), f, cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.plan, "plan", "", "file with the plan")
	flags.StringVar(&f.planDigest, "plan-digest", "", "expected digest of the plan, sha256:…")
	flags.StringVar(&f.worker, "worker", "", "name of the worker in the plan")
	flags.StringVar(&f.targetPath, "target-path", "", "directory or block device to measure")
	flags.StringVar(&f.grant, "grant", "", "file with the signed URLs")
	flags.StringVar(&f.grantDigest, "grant-digest", "", "expected digest of the grant, sha256:…")
	flags.StringVar(&f.spool, "spool", "", "directory for results that are not uploaded yet")
	flags.StringVar(&f.scratch, "scratch", "", "directory for the tools' own files")
	flags.StringVar(&f.receipt, "receipt", "", "file for the receipt, such as /dev/termination-log")
	flags.StringVar(&f.journal, "journal", "", "directory of the node's journal of changed settings, for a plan with tunables")
	flags.DurationVar(&f.timeout, "timeout", 0, "when to stop measuring; 0: never")
	flags.DurationVar(&share, "budget-share", 0, "how long the worker's trials may take, of the run's budget")
	return cmd
}

func runWorker(ctx context.Context, f workerFlags, logs io.Writer) error {
	receipt := trial.Receipt{Worker: f.worker}
	o, err := workerOptions(f, slog.New(slog.NewJSONHandler(logs, nil)))
	if err != nil {
		receipt.Failure = trial.AsFailure(err)
	} else {
		receipt = runner.Run(ctx, o)
	}
	if err := writeReceipt(f.receipt, receipt); err != nil {
		return err
	}
	if receipt.Failure != nil {
		return receipt.Failure
	}
	return nil
}

func workerOptions(f workerFlags, log *slog.Logger) (runner.Options, error) {
	document, err := os.ReadFile(f.plan)
	if err != nil {
		return runner.Options{}, fmt.Errorf("the plan: %w", err)
	}
	p, err := trial.DecodePlan(document, f.planDigest)
	if err != nil {
		return runner.Options{}, err
	}
	document, err = os.ReadFile(f.grant)
	if err != nil {
		return runner.Options{}, fmt.Errorf("the grant: %w", err)
	}
	grant, err := trial.DecodeGrant(document, f.grantDigest)
	if err != nil {
		return runner.Options{}, err
	}
	if err := refuseLinks(p, f.worker, f.targetPath); err != nil {
		return runner.Options{}, err
	}
	objects, err := presigned.New(*grant)
	if err != nil {
		return runner.Options{}, err
	}
	return runner.Options{
		Plan: p, Worker: f.worker, TargetPath: f.targetPath, Objects: objects, SealingKey: grant.SealingKey,
		Spool: f.spool, Scratch: f.scratch, Engines: apart.Engines{Finder: engines.All()}, Timeout: f.timeout, Share: f.share,
		ObserveRequests: true, Version: version(), Clock: runner.SystemClock{}, Log: log,
		Journal: f.journal, Host: tunable.Host{Prefix: tunable.InHostMounts()},
		Progress: func(e runner.Event) { logEvent(log, e) },
	}, nil
}

// refuseLinks refuses a directory of the node that is reached through a symbolic link. A
// tenant can create links below the directories that the operator allows.
func refuseLinks(p *trial.Plan, worker, path string) error {
	_, target, err := p.Worker(worker)
	if err != nil || target.Source != trial.HostPath {
		return err
	}
	field := "spec.targets[" + target.Name + "].hostPath.path"
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &trial.Failure{
			Class: reason.TargetUnusable, Field: field, Err: err,
			Message: fmt.Sprintf("the directory %s does not exist on the node, or the way to it leads through a symbolic link", target.Ref),
			Remedy:  "create it there, or use the directory that the link points to",
		}
	case err != nil:
		return &trial.Failure{Class: reason.TargetUnusable, Field: field, Message: err.Error(), Remedy: "make sure that the worker may enter every directory on the way to it", Err: err}
	case real != filepath.Clean(path):
		return &trial.Failure{
			Class: reason.TargetUnusable, Field: field,
			Message: target.Ref + " leads through a symbolic link, which could point outside the directories that the operator allows",
			Remedy:  "use the directory that the link points to",
		}
	}
	return nil
}

func logEvent(log *slog.Logger, e runner.Event) {
	attributes := []any{"step", string(e.Step), "trial", e.Trial.ID, "index", e.Index, "total", e.Total}
	if e.Round > 0 {
		attributes = append(attributes, "round", e.Round, "maxRounds", e.MaxRounds)
	}
	if e.Err != nil {
		attributes = append(attributes, "error", e.Err)
	}
	log.Info("progress", attributes...)
}

func writeReceipt(path string, r trial.Receipt) error {
	b, err := r.Encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("the receipt: %w", err)
	}
	return nil
}
