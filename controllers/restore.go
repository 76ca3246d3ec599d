package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/progress"
)

// +kubebuilder:rbac:groups=batch,namespace=storagebench-system,resources=jobs,verbs=get;create;delete
// +kubebuilder:rbac:groups="",namespace=storagebench-system,resources=pods,verbs=list

// A worker changes settings of its node. Before its Job is let go, the node is put on
// record in status.run.unrestored, and it stays there until a receipt says that all is
// as it was, or a Job in the operator's namespace has made it so. While it is there the
// node is kept, and so is the benchmark, by its finalizer.

// retryRestore is how soon a restore that failed is tried again.
const retryRestore = 30 * time.Second

// restoreNode takes the restoring of a node a step further: it makes the Job, or reads
// how it ended. What keeps it from going on is returned as trouble.
func (r *StorageBenchmarkReconciler) restoreNode(ctx context.Context, b *v1alpha1.StorageBenchmark, node string) (*progress.Trouble, error) {
	job := &batchv1.Job{}
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: jobspec.RestoreName(node)}, job)
	if apierrors.IsNotFound(err) {
		return nil, client.IgnoreAlreadyExists(r.Create(ctx, jobspec.RestoreJob(r.Settings, r.Namespace, node)))
	}
	if err != nil || !job.DeletionTimestamp.IsZero() {
		return nil, err
	}
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			restored(b, node)
			return nil, r.deleteJob(ctx, job)
		case batchv1.JobFailed:
			trouble := &progress.Trouble{Reason: v1alpha1.ReasonTunablesNotRestored, Message: r.whyNotRestored(ctx, job, node)}
			if r.Clock.Now().Sub(c.LastTransitionTime.Time) > retryRestore {
				return trouble, r.deleteJob(ctx, job)
			}
			return trouble, nil
		}
	}
	return r.restoreWaits(ctx, job, node)
}

// restoreWaits says why a restore Job has not ended yet, if it takes long.
func (r *StorageBenchmarkReconciler) restoreWaits(ctx context.Context, job *batchv1.Job, node string) (*progress.Trouble, error) {
	if r.Clock.Now().Sub(job.CreationTimestamp.Time) < patience {
		return nil, nil
	}
	if trouble, err := r.away(ctx, node); err != nil || trouble != nil {
		return trouble, err
	}
	pods, err := r.restorePods(ctx, job)
	if err != nil || len(pods) == 0 {
		return nil, err
	}
	return r.trouble(ctx, job, newest(pods), node)
}

// away says that a node is, if it is not ready.
func (r *StorageBenchmarkReconciler) away(ctx context.Context, node string) (*progress.Trouble, error) {
	n := &corev1.Node{}
	if err := client.IgnoreNotFound(r.Live.Get(ctx, types.NamespacedName{Name: node}, n)); err != nil {
		return nil, err
	}
	if nodeReady(n) { // one that is gone has no conditions
		return nil, nil
	}
	return &progress.Trouble{
		Reason: v1alpha1.ReasonNodeAway, MayPass: true,
		Message: fmt.Sprintf("node %s is away; its settings are put back when it is here again", node),
	}, nil
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func (r *StorageBenchmarkReconciler) restorePods(ctx context.Context, job *batchv1.Job) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := r.Live.List(ctx, pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name})
	return pods.Items, err
}

// whyNotRestored is what the restore printed last.
func (r *StorageBenchmarkReconciler) whyNotRestored(ctx context.Context, job *batchv1.Job, node string) string {
	said := "see the log of Job " + job.Namespace + "/" + job.Name
	if pods, err := r.restorePods(ctx, job); err == nil {
		if pod := newest(pods); pod != nil {
			for _, c := range pod.Status.ContainerStatuses {
				if t := c.State.Terminated; t != nil && t.Message != "" {
					said = strings.TrimSpace(t.Message)
				}
			}
		}
	}
	return fmt.Sprintf("a setting of node %s could not be put back: %s", node, said)
}

// unrestored puts a node on record. It returns false if it stands there already.
func unrestored(b *v1alpha1.StorageBenchmark, node string) bool {
	if slices.Contains(b.Status.Run.Unrestored, node) {
		return false
	}
	b.Status.Run.Unrestored = append(b.Status.Run.Unrestored, node)
	return true
}

// restored takes a node off the record.
func restored(b *v1alpha1.StorageBenchmark, node string) {
	b.Status.Run.Unrestored = slices.DeleteFunc(b.Status.Run.Unrestored, func(n string) bool { return n == node })
}

// restoreAll restores the nodes that are on record, when no Job of the benchmark is
// left that could. It returns true when none is.
func (r *StorageBenchmarkReconciler) restoreAll(ctx context.Context, b *v1alpha1.StorageBenchmark) (bool, error) {
	if b.Status.Run == nil {
		return true, nil
	}
	for _, node := range slices.Clone(b.Status.Run.Unrestored) {
		trouble, err := r.restoreNode(ctx, b, node)
		if err != nil {
			return false, err
		}
		r.sayRestoring(b, trouble)
	}
	return len(b.Status.Run.Unrestored) == 0, nil
}

// sayStopping tells of the nodes on record while Jobs are still being deleted: a worker
// that is told to end puts its settings back, unless its node is away, and with it the
// Pod that cannot end.
func (r *StorageBenchmarkReconciler) sayStopping(ctx context.Context, b *v1alpha1.StorageBenchmark) error {
	r.sayTunables(b, true)
	if b.Status.Run == nil {
		return nil
	}
	for _, node := range b.Status.Run.Unrestored {
		trouble, err := r.away(ctx, node)
		if err != nil {
			return err
		}
		if trouble != nil {
			r.sayRestoring(b, trouble)
		}
	}
	return nil
}

// sayRestoring says why the restoring of a node does not go on.
func (r *StorageBenchmarkReconciler) sayRestoring(b *v1alpha1.StorageBenchmark, trouble *progress.Trouble) {
	w := r.writer(b)
	switch {
	case trouble == nil:
		r.sayTunables(b, true)
		return
	case trouble.MayPass:
		w.Underway(trouble.Reason, trouble.Message)
	default:
		w.Blocked(trouble.Reason, trouble.Message)
	}
	w.TunablesRestored(false, trouble.Reason, trouble.Message)
}

// beingRestored says that a node is waited for, of which the conditions tell.
func (r *StorageBenchmarkReconciler) beingRestored(b *v1alpha1.StorageBenchmark) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionTunablesRestored)
	return b.Status.Run != nil && len(b.Status.Run.Unrestored) > 0 && c != nil && (c.Reason == v1alpha1.ReasonNodeAway || c.Reason == v1alpha1.ReasonTunablesNotRestored)
}

// sayTunables keeps the condition TunablesRestored true to what is on record. A
// benchmark that has never changed a setting has none.
func (r *StorageBenchmarkReconciler) sayTunables(b *v1alpha1.StorageBenchmark, restoring bool) {
	run, w := b.Status.Run, r.writer(b)
	known := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionTunablesRestored) != nil
	switch {
	case run == nil || len(run.Unrestored) == 0 && !known:
	case len(run.Unrestored) == 0:
		w.TunablesRestored(true, v1alpha1.ReasonRestored, "every setting is what it was before")
	case restoring:
		w.TunablesRestored(false, v1alpha1.ReasonRestoring, "putting back the settings of "+strings.Join(run.Unrestored, ", "))
	default:
		w.TunablesRestored(false, v1alpha1.ReasonChanged, "a worker measures with changed settings on "+strings.Join(run.Unrestored, ", "))
	}
}
