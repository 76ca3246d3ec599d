package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

type clusterFlags struct {
	namespace string
	context   string
}

func (f *clusterFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace (default: the kubeconfig context's)")
	cmd.Flags().StringVar(&f.context, "context", "", "context of the kubeconfig (default: the current one)")
}

func newGetCommand() *cobra.Command {
	f := clusterFlags{}
	output, everywhere, ofSchedules := "table", false, false
	cmd := &cobra.Command{
		Use:               "get [NAME]",
		ValidArgsFunction: f.completeNames,
		Short:             "Print what StorageBenchmarks in the cluster have measured",
		Long: `Print a StorageBenchmark's state and the table of its status.summary; without a NAME, a line
for each of the namespace. With --schedules, do the same of StorageBenchmarkSchedules: a NAME shows since
when medians have changed.

Exit codes: 0 it measured everything or is still running, 1 it failed or cannot be read,
2 bad input.`,
		Example: `  storagebench get -n storage-lab
  storagebench get flush-cost -n storage-lab
  storagebench get -A -o json
  storagebench get --schedules every-night -n storage-lab`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usage(fmt.Errorf("expected one NAME or none, got %d", len(args)))
			case len(args) == 1 && everywhere:
				return usage(errors.New("-A lists all namespaces, so it takes no NAME; use -n NAMESPACE"))
			}
			return checkOutput(output, listFormats...)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, namespace, err := f.client()
			if err != nil {
				return err
			}
			if ofSchedules {
				return getSchedules(cmd, c, namespace, output, args, everywhere)
			}
			if len(args) == 1 {
				b, err := fetchBenchmark(cmd.Context(), c, namespace, args[0])
				if err != nil {
					return err
				}
				if output == "table" {
					return printBenchmark(cmd.OutOrStdout(), b)
				}
				return printList(cmd.OutOrStdout(), output, []v1alpha1.StorageBenchmark{*b}, true, false, time.Now())
			}
			found, err := list(cmd.Context(), c, namespace, everywhere)
			if err != nil {
				return err
			}
			if len(found.Items) == 0 && (output == "table" || output == "wide") {
				where := "in namespace " + namespace
				if everywhere {
					where = "in the cluster"
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "there is no StorageBenchmark %s\n", where)
				return nil
			}
			return printList(cmd.OutOrStdout(), output, found.Items, false, everywhere, time.Now())
		},
	}
	f.register(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", output, "table, wide, name, json or yaml")
	completeOutput(cmd, listFormats...)
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "list the StorageBenchmarks of all namespaces")
	cmd.Flags().BoolVar(&ofSchedules, "schedules", false, "print StorageBenchmarkSchedules instead")
	return cmd
}

func newWatchCommand() *cobra.Command {
	f := clusterFlags{}
	timeout := time.Duration(0)
	cmd := &cobra.Command{
		Use:               "watch NAME",
		ValidArgsFunction: f.completeNames,
		Short:             "Follow a StorageBenchmark in the cluster until it ends, then print its table",
		Long: `Follow a StorageBenchmark until its run ends: a bar on stderr with the time left if that is a
terminal, or else a line whenever something changes; the table of its status.summary on stdout
at the end.

Exit codes: 0 everything was measured, 1 it failed or the wait timed out, 2 bad input.`,
		Example: `  kubectl apply -f benchmark.yaml && storagebench watch flush-cost -n storage-lab`,
		Args:    arguments(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			b, err := f.follow(ctx, args[0], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return printBenchmark(cmd.OutOrStdout(), b)
		},
	}
	f.register(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this long (default: never)")
	return cmd
}

// client connects to the cluster that kubectl would use.
func (f *clusterFlags) client() (client.Client, string, error) {
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(),
		&clientcmd.ConfigOverrides{CurrentContext: f.context})
	rest, err := config.ClientConfig()
	if err != nil {
		return nil, "", &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("cannot find a cluster: %v", err), Remedy: "set KUBECONFIG, or choose a context with --context", Err: err}
	}
	namespace := f.namespace
	if namespace == "" {
		if namespace, _, err = config.Namespace(); err != nil {
			return nil, "", usage(err)
		}
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, "", err
	}
	c, err := client.New(rest, client.Options{Scheme: scheme})
	return c, namespace, err
}

func fetchBenchmark(ctx context.Context, c client.Client, namespace, name string) (*v1alpha1.StorageBenchmark, error) {
	b := &v1alpha1.StorageBenchmark{}
	err := c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, b)
	switch {
	case meta.IsNoMatchError(err):
		return nil, fmt.Errorf("the cluster has no StorageBenchmark resource; install storagebench first (charts/storagebench)")
	case apierrors.IsNotFound(err):
		return nil, &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("there is no StorageBenchmark %s in namespace %s", name, namespace), Remedy: "list all with: kubectl get storagebenchmarks -A"}
	}
	return b, err
}

// follow reads the benchmark every second until its run has ended, and the Job that then looks after settings
// that were changed.
func (f *clusterFlags) follow(ctx context.Context, name string, progress io.Writer) (*v1alpha1.StorageBenchmark, error) {
	c, namespace, err := f.client()
	if err != nil {
		return nil, err
	}
	m := newMeter(progress)
	defer m.close()
	for {
		b, err := fetchBenchmark(ctx, c, namespace, name)
		if ctx.Err() != nil {
			why := "stopped watching " + name
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				why = "gave up waiting for " + name + " after --timeout"
			}
			return nil, fmt.Errorf("%s; last seen: %s; the run goes on, follow it again with: storagebench watch %s -n %s", why, cmp.Or(m.last, "nothing"), name, namespace)
		}
		if err != nil {
			return nil, err
		}
		m.show(b.Namespace+"/"+b.Name, b, time.Now())
		if ended(b) && !beingRestored(b) {
			return b, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// ended reports whether the run of the current spec has ended, successfully or
// not.
func ended(b *v1alpha1.StorageBenchmark) bool {
	return b.Status.ObservedGeneration == b.Generation && b.Status.Run != nil && b.Status.Run.FinishedAt != nil
}

// beingRestored reports whether a Job of the operator restores settings at the moment.
func beingRestored(b *v1alpha1.StorageBenchmark) bool {
	ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason == reason.Restoring
}

// stateLine returns the state in one line: reason, progress, message.
func stateLine(b *v1alpha1.StorageBenchmark) string {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	if b.DeletionTimestamp != nil && (c == nil || c.Reason != reason.Deleting) {
		return "Deleting: the operator has not begun to remove it; if that lasts, see whether the operator runs"
	}
	if c == nil || b.Status.ObservedGeneration != b.Generation {
		return "Pending: the operator has not processed it yet"
	}
	progress := ""
	if b.Status.Run != nil {
		progress = " " + b.Status.Run.Progress
	}
	return c.Reason + progress + ": " + c.Message
}

func printBenchmark(w io.Writer, b *v1alpha1.StorageBenchmark) error {
	w = coloured(w)
	fmt.Fprintf(w, "%s/%s: %s\n", b.Namespace, b.Name, stateLine(b))
	if b.Status.Run != nil {
		fmt.Fprintln(w, "results:", cmp.Or(b.Status.Run.Location, "in the status only"))
	}
	if err := report.Answer(w, status.Answer(b.Status)); err != nil {
		return err
	}
	if len(b.Status.Summary)+len(b.Status.Sweeps) > 0 {
		fmt.Fprintln(w)
		s := result.Summary{Rows: status.Rows(b.Status), Comparisons: status.Comparisons(b.Status), Gates: status.Gates(b.Status), Sweeps: status.Sweeps(b.Status), Baseline: status.Baseline(b.Status)}
		if err := errors.Join(report.Table(w, s), report.Gates(w, s), report.Sweeps(w, s), report.WriteVerdicts(w, s), report.Comparisons(w, s)); err != nil {
			return err
		}
	}
	if b.Status.SummaryOmitted > 0 {
		fmt.Fprintf(w, "and %s more in summary.json\n", suggest.Count(b.Status.SummaryOmitted, "row"))
	}
	return worth(b)
}

// worth is the error of a run that has ended and left something to be done.
func worth(b *v1alpha1.StorageBenchmark) error {
	ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case !ended(b) || ready == nil || ready.Status == metav1.ConditionTrue:
		return nil
	case meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionComplete) && ready.Reason == reason.Restoring:
		return nil // which lasts a moment
	case meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionComplete):
		why := ready.Message
		if left := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionTunablesRestored); left != nil && left.Status == metav1.ConditionFalse {
			why = left.Message
		}
		return fmt.Errorf("%s measured everything, but %s", b.Name, why)
	default:
		return fmt.Errorf("%s did not measure everything", b.Name)
	}
}
