package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func newRerunCommand() *cobra.Command {
	f := clusterFlags{}
	id := ""
	cmd := &cobra.Command{
		Use:               "rerun NAME",
		ValidArgsFunction: f.completeNames,
		Short:             "Run a StorageBenchmark in the cluster again",
		Long: `Run a StorageBenchmark again, with the spec that it has: sets its spec.runID. What the last
run stored stays in the result store. A benchmark that is kept in Git is run again by
changing spec.runID there.

Exit codes: 0 done, 1 the cluster refused it, 2 bad input.`,
		Example: `  storagebench rerun flush-cost -n storage-lab && storagebench watch flush-cost -n storage-lab
  storagebench rerun flush-cost -n storage-lab --run-id after-the-firmware`,
		Args: arguments(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, namespace, err := f.client()
			if err != nil {
				return err
			}
			if id == "" {
				id = time.Now().UTC().Format("20060102-150405")
			}
			if err := rerun(cmd.Context(), c, namespace, args[0], id); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s/%s: run %s begins; follow it with: storagebench watch %s -n %s\n", namespace, args[0], id, args[0], namespace)
			return nil
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&id, "run-id", "", "spec.runID of the new run, lower case letters, digits and hyphens (default: the time, as 20061231-235959)")
	return cmd
}

// rerun sets spec.runID, which starts a run of the same spec. A benchmark whose present run has not
// ended is refused, because the new one would end it.
func rerun(ctx context.Context, c client.Client, namespace, name, id string) error {
	b, err := fetchBenchmark(ctx, c, namespace, name)
	if err != nil {
		return err
	}
	switch {
	case b.Spec.RunID == id:
		return &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("--run-id %s is the run that %s has already", id, name), Remedy: "name another, or leave --run-id out"}
	case b.Spec.Suspend:
		return &trial.Failure{Class: reason.InvalidSpec, Message: name + " is suspended, so no run of it begins", Remedy: fmt.Sprintf("continue with: kubectl -n %s patch storagebenchmark %s --type merge -p '{\"spec\":{\"suspend\":false}}'", namespace, name)}
	case b.Status.Run != nil && !ended(b):
		return &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("the run of %s has not ended: %s", name, stateLine(b)), Remedy: "wait for it with: storagebench watch, or end it with: storagebench cancel"}
	}
	before := b.DeepCopy()
	b.Spec.RunID = id
	// The version makes sure that nobody else has changed it since it was read.
	return refused(c.Patch(ctx, b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}
