package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

func newCancelCommand() *cobra.Command {
	f := clusterFlags{}
	timeout := 2 * time.Minute
	cmd := &cobra.Command{
		Use:               "cancel NAME",
		ValidArgsFunction: f.completeNames,
		Short:             "Stop a StorageBenchmark in the cluster, and keep what it has stored",
		Long: `Stop the run of a StorageBenchmark: sets spec.suspend, and waits until its Jobs and volumes
are gone and the settings of its nodes are restored. Stored trials are kept; setting
spec.suspend to false continues after the last of them.

Exit codes: 0 it has stopped, 1 it has not within --timeout, 2 bad input.`,
		Example: `  storagebench cancel flush-cost -n storage-lab`,
		Args:    arguments(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, namespace, err := f.client()
			if err != nil {
				return err
			}
			if err := cancelRun(cmd.Context(), c, namespace, args[0], timeout); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s/%s has stopped\n", namespace, args[0])
			return nil
		},
	}
	f.register(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long to wait for it to stop")
	return cmd
}

// cancelRun suspends the benchmark, and waits until nothing of its run is left.
func cancelRun(ctx context.Context, c client.Client, namespace, name string, timeout time.Duration) error {
	b, err := fetchBenchmark(ctx, c, namespace, name)
	if err != nil {
		return err
	}
	if ended(b) {
		return &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("the run of %s has ended: %s", name, stateLine(b)), Remedy: "there is nothing to cancel"}
	}
	if !b.Spec.Suspend {
		before := b.DeepCopy()
		b.Spec.Suspend = true
		if err := refused(c.Patch(ctx, b, client.MergeFrom(before))); err != nil {
			return err
		}
	}
	until := time.Now().Add(timeout)
	for {
		if b, err = fetchBenchmark(ctx, c, namespace, name); err != nil {
			return err
		}
		if stopped(b) {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("%s has not stopped within %s; last seen: %s", name, timeout, stateLine(b))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped waiting for %s; its spec.suspend is set, and the operator ends the run", name)
		case <-time.After(time.Second):
		}
	}
}

// stopped reports whether the operator has done what spec.suspend asks for.
func stopped(b *v1alpha1.StorageBenchmark) bool {
	ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	return b.Status.ObservedGeneration == b.Generation && ready != nil && ready.Reason == reason.Suspended || ended(b)
}

// refused turns an answer of the API server into one that says what to do.
func refused(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return &trial.Failure{Class: reason.AccessDenied, Message: err.Error(), Remedy: "ask for the verbs create, patch and delete on storagebenchmarks in that namespace; the ClusterRole edit has them, unless the chart's rbac.aggregate is false", Err: err}
	case apierrors.IsConflict(err):
		return fmt.Errorf("somebody else has changed it at the same time; try again: %w", err)
	case apierrors.IsInvalid(err):
		return &trial.Failure{Class: reason.InvalidSpec, Message: err.Error(), Remedy: "correct the field that it names", Err: err}
	}
	return err
}
