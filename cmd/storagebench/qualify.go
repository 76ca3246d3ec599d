package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/qualify"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

type qualifyFlags struct {
	clusterFlags
	class, purpose, size, node, output string
	nodes, volumes                     int
	keep                               bool
	timeout                            time.Duration
}

func newQualifyCommand() *cobra.Command {
	f := qualifyFlags{}
	cmd := &cobra.Command{
		Use:   "qualify --storage-class NAME --for PURPOSE",
		Short: "Answer whether a StorageClass is good enough for a purpose",
		Long: `Answer whether a StorageClass is good enough for a purpose. qualify creates a
StorageBenchmark, follows it, prints one answer with its reasons, and deletes it again, also
if you stop it. The cluster needs the operator and nothing else: no bucket, no Secret.

Purposes: ` + strings.Join(qualify.Names(), ", ") + `. Their limits and where these
come from are in docs/reference/qualify.md. An answer is decided on the 95 % interval of 6
trials, or of up to 12 if fewer do not decide; it speaks for the volume that was measured, or with --volumes 3 for the class.

Progress goes to stderr, the answer to stdout.

Exit codes: 0 qualified, 1 it could not be measured, 2 bad input, 3 not qualified, 4 not decided.`,
		Example: `  storagebench qualify --storage-class fast --for etcd

  # on one node, in a pipeline
  storagebench qualify --storage-class fast --for postgres --node node-a -n storage-lab -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required(cmd, "storage-class", "for"); err != nil {
				return err
			}
			ask, err := f.ask()
			if err != nil {
				return err
			}
			c, namespace, err := f.client()
			if err != nil {
				return err
			}
			q := qualification{client: c, namespace: namespace, ask: ask, progress: cmd.ErrOrStderr(), every: time.Second, patience: operatorPatience}
			return q.run(cmd.Context(), cmd.OutOrStdout(), f.output)
		},
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.class, "storage-class", "", "StorageClass to qualify")
	flags.StringVar(&f.purpose, "for", "", "purpose: "+strings.Join(qualify.Names(), ", "))
	flags.StringVar(&f.size, "size", "10Gi", "size of the volume")
	flags.StringVar(&f.node, "node", "", "node to measure on (default: any)")
	flags.IntVar(&f.nodes, "nodes", 1, "number of nodes to measure on, each with a volume of its own")
	flags.IntVar(&f.volumes, "volumes", 1, "number of volumes on each node, one after the other; 3 or more speak for the class")
	flags.BoolVar(&f.keep, "keep", false, "keep the StorageBenchmark")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "give up after this long")
	flags.StringVarP(&f.output, "output", "o", "table", "output format: table, json or yaml")
	completeOutput(cmd, "table", "json", "yaml")
	completeFlag(cmd, "for", qualify.Names()...)
	return cmd
}

// ask checks the flags.
func (f *qualifyFlags) ask() (qualify.Ask, error) {
	a := qualify.Ask{StorageClass: f.class, Node: f.node, Nodes: f.nodes, Volumes: f.volumes, Timeout: f.timeout, Keep: f.keep}
	if err := checkOutput(f.output, "table", "json", "yaml"); err != nil {
		return a, err
	}
	purpose, remedy, ok := qualify.Find(f.purpose)
	if !ok {
		return a, &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("--for: there is no purpose %q", f.purpose), Remedy: remedy}
	}
	a.Purpose = purpose
	size, err := resource.ParseQuantity(f.size)
	if err != nil || size.Sign() <= 0 {
		return a, usage(fmt.Errorf("--size %q is not a size above 0, for example 10Gi", f.size))
	}
	a.Size = size
	switch {
	case f.class == "":
		return a, usage(errors.New("--storage-class is empty; name one that kubectl get storageclasses lists"))
	case f.nodes < 1:
		return a, usage(fmt.Errorf("--nodes is %d, and must be at least 1", f.nodes))
	case f.volumes < 1:
		return a, usage(fmt.Errorf("--volumes is %d, and must be at least 1", f.volumes))
	case f.node != "" && f.nodes != 1:
		return a, usage(errors.New("--node names one node, so --nodes must be 1"))
	case f.timeout < 10*time.Second || f.timeout > 24*time.Hour:
		return a, usage(fmt.Errorf("--timeout is %s, and must be from 10s to 24h", f.timeout))
	}
	return a, nil
}

// operatorPatience is how long a benchmark may be there without the operator having looked at it.
const operatorPatience = 30 * time.Second

// deleteLimit is how long the benchmark's deletion may take to be accepted.
const deleteLimit = 15 * time.Second

// qualification creates one benchmark, follows it, and deletes it.
type qualification struct {
	client    client.Client
	namespace string
	ask       qualify.Ask
	progress  io.Writer
	// every is how often it looks.
	every, patience time.Duration
}

func (q *qualification) run(ctx context.Context, stdout io.Writer, output string) error {
	b := &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: q.namespace, Name: q.ask.Name() + rand.String(5)},
		Spec:       q.ask.Spec(),
	}
	if err := q.client.Create(ctx, b); err != nil {
		if ctx.Err() != nil { // it may have been created all the same
			return errors.Join(errors.New("stopped before the benchmark was seen to be created"), q.remove(ctx, b))
		}
		return notCreated(err, q.namespace)
	}
	ended, err := q.follow(ctx, b)
	var left error
	if !q.ask.Keep {
		left = q.remove(ctx, b)
	} else if err != nil {
		fmt.Fprintf(q.progress, "kept: storagebench get %s -n %s\n", b.Name, b.Namespace)
	}
	if err != nil {
		return errors.Join(err, left)
	}
	if left != nil { // the answer is there all the same
		fmt.Fprintln(q.progress, left)
	}
	return printAnswer(stdout, output, qualify.Of(q.ask, ended, plan.LimitOf))
}

// notCreated explains why a benchmark could not be created.
func notCreated(err error, namespace string) error {
	switch {
	case meta.IsNoMatchError(err):
		return errors.New("the cluster has no StorageBenchmark resource; install storagebench first (charts/storagebench)")
	case apierrors.IsNotFound(err):
		return &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("there is no namespace %s, or the cluster has no storagebench", namespace), Remedy: "create it, or name another with -n; charts/storagebench installs the operator", Err: err}
	}
	return refused(err)
}

// remove deletes the benchmark, also if ctx has ended. The operator removes its volumes.
func (q *qualification) remove(ctx context.Context, b *v1alpha1.StorageBenchmark) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteLimit)
	defer cancel()
	if err := client.IgnoreNotFound(q.client.Delete(ctx, b)); err != nil {
		return fmt.Errorf("cannot delete %s, which the operator deletes an hour after its end: %w", b.Name, err)
	}
	return nil
}

// hopeless are reasons that stay until somebody changes what was asked for.
var hopeless = map[string]bool{
	reason.InvalidSpec: true, reason.InvalidJobFile: true, reason.StorageClassNotFound: true, reason.ResultStoreNotFound: true, reason.NoMatchingNodes: true,
	reason.NamespaceNotAllowed: true, reason.LimitExceeded: true, reason.NamespaceTerminating: true, reason.PodRejected: true,
}

// follow waits until the benchmark's run has ended with an answer.
func (q *qualification) follow(ctx context.Context, b *v1alpha1.StorageBenchmark) (*v1alpha1.StorageBenchmark, error) {
	m := newMeter(q.progress)
	defer m.close()
	what := q.ask.Purpose.Name + " on class " + q.ask.StorageClass
	started := time.Now()
	read := started // when it was read last
	name := b.Name
	for {
		now, err := fetchBenchmark(ctx, q.client, q.namespace, name)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("stopped; last seen: %s", cmp.Or(m.last, "nothing"))
		case err != nil && mayPass(err) && time.Since(read) < q.patience:
			if !q.wait(ctx) {
				return nil, fmt.Errorf("stopped; the last read failed: %w", err)
			}
			continue
		case err != nil:
			return nil, err
		case ended(now) && now.Status.Answer != nil && !answersNothing(now):
			return now, nil
		case ended(now):
			return nil, fmt.Errorf("the run failed: %s", stateLine(now))
		}
		if err := q.inTheWay(now, time.Since(started)); err != nil {
			return nil, err
		}
		read = time.Now()
		m.show(what, now, read)
		q.wait(ctx)
	}
}

// wait waits until it is time to look again, or returns false if ctx ends before.
func (q *qualification) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(q.every):
		return true
	}
}

// mayPass reports whether a read that failed may succeed the next time: an API server that restarts, or
// a connection that broke. That the benchmark or its kind is gone, or may not be read, stays so.
func mayPass(err error) bool {
	if _, ok := errors.AsType[*trial.Failure](err); ok || meta.IsNoMatchError(err) {
		return false
	}
	return !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err)
}

// answersNothing reports that a run failed before its gates could be decided.
func answersNothing(b *v1alpha1.StorageBenchmark) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionFailed) && b.Status.Answer.Answer == result.Inconclusive
}

// inTheWay returns why waiting is of no use.
func (q *qualification) inTheWay(b *v1alpha1.StorageBenchmark, waited time.Duration) error {
	ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil && waited > q.patience:
		return fmt.Errorf("the operator has not looked at the benchmark for %s; is it running? kubectl get pods -A -l app.kubernetes.io/name=storagebench", q.patience)
	case ready == nil:
		return nil
	case meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled) && hopeless[ready.Reason]:
		f := &trial.Failure{Class: trial.Class(ready.Reason), Message: ready.Reason + ": " + ready.Message}
		if ready.Reason != reason.PodRejected {
			f.Class = reason.InvalidSpec
		}
		return f
	case waited > q.ask.Timeout:
		return fmt.Errorf("gave up after %s: %s", q.ask.Timeout, stateLine(b))
	}
	return nil
}

func printAnswer(w io.Writer, output string, a qualify.Answer) error {
	var err error
	switch output {
	case "json":
		err = printJSON(w, a)
	case "yaml":
		var b []byte
		if b, err = yaml.Marshal(a); err == nil {
			_, err = raw(w).Write(b)
		}
	default:
		_, err = io.WriteString(coloured(w), a.Text())
	}
	if err != nil {
		return err
	}
	return exitOf(a.Answer)
}
