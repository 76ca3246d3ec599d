package benchmark

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/controllers/trim"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/store/inbox"
)

// remove takes the finalizer off a deleted benchmark when its workers are gone. It does not
// wait for settings of nodes: their records stay until these are restored.
func (r *Reconciler) remove(ctx context.Context, p *pass) (done bool, err error) {
	if p.DeletionTimestamp.IsZero() {
		return false, nil
	}
	if !controllerutil.ContainsFinalizer(p, Finalizer) {
		p.gone = true
		return true, nil
	}
	left, err := r.clear(ctx, p)
	if err == nil && left == "" {
		left, err = r.jobLeft(ctx, p)
	}
	if err != nil || left != "" {
		p.outcome = status.Underway(reason.Deleting, "removing the benchmark's Jobs and volumes: waiting for "+left, poll)
		return true, err
	}
	if err := r.Results.Drop(ctx, p.Namespace, p.Name, inbox.Keep{}); err != nil {
		return true, err
	}
	if err := r.allFinalizers(ctx, p); err != nil {
		return true, err
	}
	before := p.DeepCopy()
	controllerutil.RemoveFinalizer(p, Finalizer)
	err = r.Patch(ctx, p.StorageBenchmark, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err = action.Done(ctx, "let-go", p.StorageBenchmark, client.IgnoreNotFound(err)); err == nil {
		p.gone = true
		r.memory.forget(client.ObjectKeyFromObject(p.StorageBenchmark))
		r.memory.writes.Forget(p.UID)
		r.memory.setEmpty(p.UID, false)
	}
	return true, err
}

// jobLeft asks the API server, as the cache may not have the newest Job yet, and this is the
// last chance to delete it. The operator may not delete a Job without its label; the garbage
// collector does, because the benchmark owns it.
func (r *Reconciler) jobLeft(ctx context.Context, p *pass) (string, error) {
	jobs := &batchv1.JobList{}
	if err := r.Live.List(ctx, jobs, client.InNamespace(p.Namespace), client.MatchingLabels{jobspec.LabelManagedBy: jobspec.ManagedBy, jobspec.LabelBenchmark: p.Name}); err != nil {
		return "", err
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if !metav1.IsControlledBy(job, p) {
			continue
		}
		// One that is being deleted already is not waited for: clear has done that.
		deleting := !job.DeletionTimestamp.IsZero()
		if err := r.Workers.Discard(ctx, job); err != nil || !deleting {
			return "Job " + job.Name, err
		}
	}
	return "", nil
}

// allFinalizers reads the finalizers of a benchmark of which the cache may have dropped some: a patch replaces the
// list, and those of others stay. Without the lock, one that was added just now would go.
func (r *Reconciler) allFinalizers(ctx context.Context, p *pass) error {
	if len(p.Finalizers) < trim.MaxFinalizers {
		return nil
	}
	b := &v1alpha1.StorageBenchmark{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(p.StorageBenchmark), b); err != nil {
		return err
	}
	if b.UID != p.UID || b.ResourceVersion != p.ResourceVersion {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("storagebenchmarks").GroupResource(), p.Name, errChanged)
	}
	p.Finalizers, p.before.Finalizers = b.Finalizers, slices.Clone(b.Finalizers)
	return nil
}

// protect adds the finalizer before anything is made.
func (r *Reconciler) protect(ctx context.Context, p *pass) (done bool, err error) {
	if controllerutil.ContainsFinalizer(p, Finalizer) {
		return false, nil
	}
	if err := r.allFinalizers(ctx, p); err != nil {
		return false, err
	}
	before := p.DeepCopy()
	controllerutil.AddFinalizer(p, Finalizer)
	changed := p.DeepCopy()
	if err := r.Patch(ctx, changed, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return false, action.Done(ctx, "protect", p.StorageBenchmark, err)
	}
	// What the API server returned has the whole spec; the pass goes on with what it had.
	r.memory.writes.Set(changed.UID, changed.ResourceVersion)
	p.ResourceVersion, p.before.ResourceVersion = changed.ResourceVersion, changed.ResourceVersion
	p.before.Finalizers = p.Finalizers
	return false, nil
}
