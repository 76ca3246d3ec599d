package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/trial"
)

// grantSpare is how much longer than a worker's timeout its signed URLs are valid.
const grantSpare = time.Hour

// act carries out a decision. Every action may be repeated.
func (r *StorageBenchmarkReconciler) act(ctx context.Context, b *v1alpha1.StorageBenchmark, o *observed, d progress.Decision) error {
	for _, action := range d.Actions {
		var err error
		switch action.Verb {
		case progress.Acquire:
			err = r.acquire(ctx, b, action.Node)
		case progress.Release:
			var l nodeLease
			if l, err = r.lease(ctx, action.Node); err == nil && l.Lease != nil {
				err = r.release(ctx, b, l.Lease)
			}
		case progress.Start:
			err = r.startWorker(ctx, b, o, action.Worker)
		case progress.Settle:
			err = r.settle(ctx, b, o, action)
		case progress.Abandon:
			abandon(b, action)
		case progress.CleanUp:
			err = r.deleteJob(ctx, o.jobs[action.Worker])
		case progress.Restore:
			var trouble *progress.Trouble
			if trouble, err = r.restoreNode(ctx, b, action.Node); err == nil {
				r.sayRestoring(b, trouble)
			}
		case progress.Conclude:
			err = r.conclude(ctx, b, o)
		}
		if err != nil {
			return fmt.Errorf("%s %s%s: %w", action.Verb, action.Worker, action.Node, err)
		}
	}
	return nil
}

// startWorker makes a worker's Job, suspended, then what it owns, then lets it go.
func (r *StorageBenchmarkReconciler) startWorker(ctx context.Context, b *v1alpha1.StorageBenchmark, o *observed, name string) error {
	p, err := r.buildPlan(ctx, b)
	if err != nil {
		return err
	}
	worker, target, err := p.Worker(name)
	if err != nil {
		return err
	}
	if b.Status.Run.StartedAt == nil {
		// Not when the node is taken: an operator that is killed between the two
		// would leave a run that holds its node and never started.
		b.Status.Run.StartedAt = new(metav1.NewTime(r.Clock.Now()))
	}
	left := b.Status.Run.StartedAt.Add(b.Spec.Timeout.Duration).Sub(r.Clock.Now())
	in := jobspec.Input{
		Settings: r.Settings, Plan: p, Worker: worker, Target: target,
		Owner:       *metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("StorageBenchmark")),
		Tolerations: b.Spec.Placement.Tolerations,
		Timeout:     max(left, time.Second),
	}
	job := o.jobs[name]
	if job == nil {
		if job, err = jobspec.Job(in); err != nil {
			return err
		}
		// If it exists and the cache does not know yet, the next pass will.
		if err := r.Create(ctx, job); err != nil {
			return rejected(err)
		}
	}
	if err := r.makeOwned(ctx, b, o, in, job, left+grantSpare); err != nil {
		return err
	}
	if p.SetsTunables() && unrestored(b, worker.Node) {
		return nil // when this stands in the status, the Job is let go
	}
	before := job.DeepCopy()
	job.Spec.Suspend = new(false)
	return r.Patch(ctx, job, client.MergeFrom(before))
}

// makeOwned makes what a suspended Job needs: plan, grant and volume.
func (r *StorageBenchmarkReconciler) makeOwned(ctx context.Context, b *v1alpha1.StorageBenchmark, o *observed, in jobspec.Input, job *batchv1.Job, valid time.Duration) error {
	document, _, err := in.Plan.Encode()
	if err != nil {
		return err
	}
	bucket, err := r.openBucket(ctx, o)
	if err != nil {
		return err
	}
	if err := bucket.Put(ctx, in.Plan.Keys().Plan(), document); err != nil {
		return unstored(o, err)
	}
	if err := r.replace(ctx, jobspec.PlanConfigMap(job, document)); err != nil {
		return err
	}
	grant, err := sign(ctx, bucket, in.Plan, in.Worker.Name, valid, r.Clock.Now())
	if err != nil {
		return err
	}
	grant.CABundle = o.store.Spec.CABundle
	encoded, err := json.Marshal(grant)
	if err != nil {
		return err
	}
	secret, err := jobspec.GrantSecret(job, encoded)
	if err != nil {
		return err
	}
	if err := r.replace(ctx, secret); err != nil {
		return err
	}
	for _, target := range b.Spec.Targets {
		if target.Name == in.Target.Name && target.StorageClass != nil {
			return r.makeClaim(ctx, job, target.StorageClass)
		}
	}
	return nil
}

// replace creates an object, in the place of one that has its name: what was left
// by a pass that did not come to its end, or what somebody put there to be taken
// for it. The operator cannot read these objects, so it does not ask which.
func (r *StorageBenchmarkReconciler) replace(ctx context.Context, object client.Object) error {
	err := r.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		if err := r.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return err
		}
		err = r.Create(ctx, object)
	}
	return rejected(err)
}

func (r *StorageBenchmarkReconciler) makeClaim(ctx context.Context, job *batchv1.Job, class *v1alpha1.StorageClassTarget) error {
	claim := jobspec.Claim(job, class.Name, *class.Size, class.AccessMode, class.VolumeMode)
	err := r.Create(ctx, claim)
	if !apierrors.IsAlreadyExists(err) {
		return rejected(err)
	}
	existing := &corev1.PersistentVolumeClaim{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(claim), existing); err != nil {
		return err
	}
	if metav1.IsControlledBy(existing, job) {
		return nil
	}
	return &trial.Failure{
		Class:   v1alpha1.ReasonPodRejected,
		Message: fmt.Sprintf("there is a PersistentVolumeClaim %s that is not this run's", claim.Name),
		Remedy:  "delete it",
	}
}

// sign makes the grant of a worker: its own objects, and no others.
func sign(ctx context.Context, signer Bucket, p *trial.Plan, worker string, valid time.Duration, now time.Time) (*trial.Grant, error) {
	keys := p.Keys()
	grant := &trial.Grant{Expires: now.Add(valid), Put: map[string]string{}, Get: map[string]string{}}
	put := []string{keys.WorkerSummary(worker)}
	get := []string{keys.WorkerSummary(worker)}
	for _, t := range p.Trials {
		put = append(put, keys.Trial(worker, t.ID), keys.Raw(worker, t.ID))
		get = append(get, keys.Trial(worker, t.ID))
	}
	var err error
	for _, key := range put {
		if grant.Put[key], err = signer.SignPut(ctx, key, valid); err != nil {
			return nil, err
		}
	}
	for _, key := range get {
		if grant.Get[key], err = signer.SignGet(ctx, key, valid); err != nil {
			return nil, err
		}
	}
	return grant, nil
}

// rejected turns the API server's refusal of an object into what the user reads:
// quota, admission policies and validation speak in it.
func rejected(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return &trial.Failure{Class: v1alpha1.ReasonPodRejected, Message: err.Error(), Remedy: "make the namespace's quota and policies allow it", Err: err}
	}
	return err
}

// deleteJob deletes a Job in the foreground: it is gone when its Pods, its volume
// and the rest of what it owns are.
func (r *StorageBenchmarkReconciler) deleteJob(ctx context.Context, job *batchv1.Job) error {
	if job == nil {
		return nil
	}
	return client.IgnoreNotFound(r.Delete(ctx, job, client.Preconditions{UID: &job.UID}, client.PropagationPolicy(metav1.DeletePropagationForeground)))
}

// clear deletes every Job of the benchmark, of any run, and when they are gone
// restores its nodes and gives them back. It reads past the cache, as it may be the last chance.
func (r *StorageBenchmarkReconciler) clear(ctx context.Context, b *v1alpha1.StorageBenchmark) (clean bool, err error) {
	jobs := &batchv1.JobList{}
	if err := r.Live.List(ctx, jobs, client.InNamespace(b.Namespace), client.MatchingLabels{jobspec.LabelBenchmark: b.Name}); err != nil {
		return false, err
	}
	clean = true
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if !metav1.IsControlledBy(job, b) {
			continue
		}
		clean = false
		if job.DeletionTimestamp.IsZero() {
			if err := r.deleteJob(ctx, job); err != nil {
				return false, err
			}
		}
	}
	if !clean {
		return false, r.sayStopping(ctx, b)
	}
	if clean, err := r.restoreAll(ctx, b); err != nil || !clean {
		return false, err
	}
	leases := &coordinationv1.LeaseList{}
	if err := r.Live.List(ctx, leases, client.InNamespace(r.Namespace), client.MatchingLabels{jobspec.LabelManagedBy: jobspec.ManagedBy}); err != nil {
		return false, err
	}
	for i := range leases.Items {
		if err := r.release(ctx, b, &leases.Items[i]); err != nil {
			return false, err
		}
	}
	return true, nil
}

// suspend takes workers that had begun back to the start; what they stored stays.
func suspend(run *v1alpha1.RunStatus) {
	if run == nil {
		return
	}
	for i := range run.Workers {
		if run.Workers[i].Phase == v1alpha1.WorkerRunning {
			run.Workers[i].Phase = v1alpha1.WorkerPending
		}
	}
}

func workerStatus(b *v1alpha1.StorageBenchmark, name string) *v1alpha1.WorkerStatus {
	for i := range b.Status.Run.Workers {
		if b.Status.Run.Workers[i].Name == name {
			return &b.Status.Run.Workers[i]
		}
	}
	return &v1alpha1.WorkerStatus{}
}
