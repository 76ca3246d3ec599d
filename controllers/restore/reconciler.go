package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/controllers/nodes"
	"storagebench.io/storagebench/controllers/state"
	"storagebench.io/storagebench/controllers/written"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/status"
)

// startPatience is how long a restore Pod may wait before it is said why it does not start.
const startPatience = 10 * time.Second

// Reconciler takes each record to its end.
type Reconciler struct {
	Records

	over    overJobs
	written written.Versions
	ending  endings
}

// staleRetry is how soon a record is looked at again whose last write by the operator itself
// has not come back yet.
const staleRetry = 20 * time.Millisecond

// overJobs remembers of which Jobs of workers the API server agreed with the cache, which may be
// behind, that they start no more Pods. Asking once for each version of a Job in the cache is
// enough. After a restart it asks once more.
type overJobs struct {
	mu  sync.Mutex
	all map[string]string // Job and version in the cache, by the record's name
}

func (o *overJobs) has(record, version string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[record] == version
}

func (o *overJobs) add(record, version string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[string]string{}
	}
	o.all[record] = version
}

func (o *overJobs) forget(record string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, record)
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("noderestore").
		For(&v1alpha1.NodeRestore{}, builder.WithPredicates(r.forgets(), predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&batchv1.Job{}).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(r.ofWorker)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofWorker)).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(ofNode), builder.WithPredicates(nodes.Changed)).
		WithOptions(controller.Options{RateLimiter: action.Retries()}).
		Complete(r)
}

// forgets lets every event pass, and drops what is remembered of a record that is gone.
func (r *Reconciler) forgets() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		r.written.Forget(e.Object.GetUID())
		r.ending.of(e.Object.GetUID(), workerEnded, r.Clock.Now())
		return true
	}}
}

// ofNode: a record has its node's name.
func ofNode(_ context.Context, node client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: node.GetName()}}}
}

// ofWorker maps a Job or a Pod of a worker, or a restore Pod, to the records that wait for it.
func (r *Reconciler) ofWorker(ctx context.Context, object client.Object) []reconcile.Request {
	list := &v1alpha1.NodeRestoreList{}
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the records of nodes")
		return nil
	}
	labels := object.GetLabels()
	var requests []reconcile.Request
	for i := range list.Items {
		record := &list.Items[i]
		ours := labels[jobspec.LabelRecord] == string(record.UID) && object.GetNamespace() == r.Namespace
		theirs := labels[jobspec.LabelWorker] == record.Spec.Worker && object.GetNamespace() == record.Spec.Benchmark.Namespace
		if ours || theirs {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: record.Name}})
		}
	}
	return requests
}

// Reconcile takes one record a step further: it gathers, decides, acts, and writes the
// record's status once.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	record := &v1alpha1.NodeRestore{}
	if err := r.Get(ctx, req.NamespacedName, record); err != nil || !record.DeletionTimestamp.IsZero() {
		r.over.forget(req.Name)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.written.After(record.UID, record.ResourceVersion) {
		// The cache does not know yet which attempt the last pass has counted.
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	f, job, err := r.gather(ctx, record)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := decide(f)
	before := record.DeepCopy()
	if err := r.act(ctx, record, job, &d); err != nil {
		d.message = fmt.Sprintf("the operator will try again after an error: %v", err)
		return ctrl.Result{}, r.write(ctx, before, record, d, err)
	}
	if d.step == stepClose {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: d.again}, r.write(ctx, before, record, d, nil)
}

// gather reads what is known of the record's node, worker and restore Job.
func (r *Reconciler) gather(ctx context.Context, record *v1alpha1.NodeRestore) (facts, *batchv1.Job, error) {
	f := facts{now: r.Clock.Now(), record: record}
	view, err := nodes.Look(ctx, r.Client, record.Name)
	if err != nil {
		return f, nil, err
	}
	f.nodeReady, f.nodeGone = view.Ready, view.UID == ""
	if f.worker, err = r.lookAtWorker(ctx, record); err != nil {
		return f, nil, err
	}
	f.endingFor = r.ending.of(record.UID, f.worker, f.now)
	job := &batchv1.Job{}
	err = r.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: jobspec.RestoreName(string(record.UID), int(record.Status.Attempts))}, job)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(job, record) {
		return f, nil, nil
	}
	if err != nil {
		return f, nil, err
	}
	err = r.lookAtAttempt(ctx, job, &f)
	return f, job, err
}

// lookAtWorker finds whether a Pod of the worker's Job may run, now or later. That none may is
// believed of the API server, not of the cache.
func (r *Reconciler) lookAtWorker(ctx context.Context, record *v1alpha1.NodeRestore) (worker, error) {
	found, version, err := r.lookThrough(ctx, r.Client, record)
	if err != nil || found == workerActive || r.over.has(record.Name, version) {
		return found, err
	}
	live, _, err := r.lookThrough(ctx, r.Live, record)
	if err == nil && live == found {
		r.over.add(record.Name, version)
	}
	return live, err
}

// lookThrough finds it as the reader shows it, and which version of the Job that has.
func (r *Reconciler) lookThrough(ctx context.Context, reader client.Reader, record *v1alpha1.NodeRestore) (found worker, version string, err error) {
	spec := record.Spec
	job := &batchv1.Job{}
	err = reader.Get(ctx, types.NamespacedName{Namespace: spec.Benchmark.Namespace, Name: spec.Job.Name}, job)
	if client.IgnoreNotFound(err) != nil {
		return workerActive, "", err
	}
	missing := err != nil || job.UID != spec.Job.UID
	version = string(spec.Job.UID)
	if !missing {
		version += "/" + job.ResourceVersion
	}
	over := missing || !job.DeletionTimestamp.IsZero() || state.JobEnded(job) != "" || state.Overdue(job, r.Clock.Now())
	if !over && state.Suspended(job) && job.Annotations[jobspec.AnnotationComplete] != "" {
		over = true // parked: it opens the record again when it goes on
	}
	if !over {
		// No new Pod is admitted to a namespace that is being deleted, or gone.
		namespace, err := state.OfNamespace(ctx, r.Client, spec.Benchmark.Namespace)
		if err != nil {
			return workerActive, version, err
		}
		over = namespace != state.NamespaceThere
	}
	switch {
	case !over && lost(job, spec):
		return workerEnding, version, nil
	case !over:
		return workerActive, version, nil
	}
	pods := &corev1.PodList{}
	if err := reader.List(ctx, pods, client.InNamespace(spec.Benchmark.Namespace), client.MatchingLabels{jobspec.LabelWorker: spec.Worker, jobspec.LabelRun: spec.Run}); err != nil {
		return workerActive, version, err
	}
	for i := range pods.Items {
		owner := metav1.GetControllerOf(&pods.Items[i])
		if owner != nil && owner.UID == spec.Job.UID && !state.PodEnded(&pods.Items[i]) {
			return workerEnding, version, nil
		}
	}
	return workerEnded, version, nil
}

// lost reports whether somebody has taken the Job away from the operator, which finds its
// Jobs by their labels and owner: it can neither let this one go nor delete it.
func lost(job *batchv1.Job, spec v1alpha1.NodeRestoreSpec) bool {
	owner, labels := metav1.GetControllerOf(job), job.Labels
	return owner == nil || owner.UID != spec.Benchmark.UID || labels[jobspec.LabelManagedBy] != jobspec.ManagedBy ||
		labels[jobspec.LabelBenchmark] != spec.Benchmark.Name || labels[jobspec.LabelRun] != spec.Run || labels[jobspec.LabelWorker] != spec.Worker
}

// lookAtAttempt finds how the restore Job stands, and what it said.
func (r *Reconciler) lookAtAttempt(ctx context.Context, job *batchv1.Job, f *facts) error {
	switch f.attempt = attemptRunning; state.JobEnded(job) {
	case batchv1.JobComplete:
		f.attempt = attemptSucceeded
		return nil
	case batchv1.JobFailed:
		f.attempt = attemptFailed
	}
	age := f.now.Sub(job.CreationTimestamp.Time)
	if f.attempt == attemptRunning && age < startPatience {
		return nil
	}
	pods := &corev1.PodList{}
	if err := r.List(ctx, pods, client.InNamespace(r.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
		return err
	}
	pod := state.Newest(pods.Items)
	f.said = said(pod)
	if f.attempt == attemptRunning && !started(pod) {
		f.unstarted = age
	}
	return nil
}

// started reports whether a container of the Pod runs or has run.
func started(pod *corev1.Pod) bool {
	return pod != nil && slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil || c.State.Terminated != nil
	})
}

// said is what a restore Pod printed last, or what keeps it from starting.
func said(pod *corev1.Pod) string {
	if pod == nil {
		return "it has no Pod; see the events of its Job"
	}
	for _, c := range pod.Status.ContainerStatuses {
		switch {
		case c.State.Terminated != nil && c.State.Terminated.Message != "":
			return strings.TrimSpace(c.State.Terminated.Message)
		case c.State.Waiting != nil && c.State.Waiting.Message != "":
			return c.State.Waiting.Reason + ": " + c.State.Waiting.Message
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// act carries out a decision. Every action may be repeated.
func (r *Reconciler) act(ctx context.Context, record *v1alpha1.NodeRestore, job *batchv1.Job, d *decision) error {
	switch d.step {
	case stepCreate:
		job, err := jobspec.RestoreJob(jobspec.Restore{
			Settings: r.Settings, Namespace: r.Namespace, Node: record.Name,
			Record: string(record.UID), Attempt: int(record.Status.Attempts), Permit: permit(record.Spec.Settings),
			Owner: []metav1.OwnerReference{*metav1.NewControllerRef(record, v1alpha1.GroupVersion.WithKind("NodeRestore"))},
		})
		if err != nil {
			return err
		}
		return action.Done(ctx, "restore", job, client.IgnoreAlreadyExists(r.Create(ctx, job)))
	case stepRetry:
		record.Status.Attempts++
		record.Status.FailedAt = new(metav1.NewTime(r.Clock.Now()))
		// Its name is never used again, so it does not matter when it goes.
		err := r.Delete(ctx, job, client.Preconditions{UID: &job.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err := client.IgnoreNotFound(err); err != nil {
			_ = action.Done(ctx, "delete", job, err) // the record owns it, and it goes with that
		}
	case stepClose:
		err := r.Delete(ctx, record, client.Preconditions{UID: &record.UID, ResourceVersion: &record.ResourceVersion}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		r.written.Forget(record.UID)
		return action.Done(ctx, "restored", record, client.IgnoreNotFound(err))
	}
	return nil
}

// write writes the record's status if it changed.
func (r *Reconciler) write(ctx context.Context, before, record *v1alpha1.NodeRestore, d decision, cause error) error {
	record.Status.Phase, record.Status.Message = d.phase, status.Shorten(d.message, 2048)
	meta.SetStatusCondition(&record.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionTunablesRestored, Status: metav1.ConditionFalse, Reason: reasons[d.phase],
		Message: status.Shorten(d.message, 1024), ObservedGeneration: record.Generation, LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	})
	if !equality.Semantic.DeepEqual(before.Status, record.Status) {
		err := r.Status().Patch(ctx, record, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if err == nil {
			r.written.Set(record.UID, record.ResourceVersion)
		}
		if cause == nil {
			return client.IgnoreNotFound(err)
		}
	}
	return cause
}

var reasons = map[v1alpha1.RestorePhase]string{
	v1alpha1.RestoreInUse:     reason.Changed,
	v1alpha1.RestoreRunning:   reason.Restoring,
	v1alpha1.RestoreNodeAway:  reason.NodeAway,
	v1alpha1.RestoreFailed:    reason.TunablesNotRestored,
	v1alpha1.RestoreGone:      reason.NodeGone,
	v1alpha1.RestoreAbandoned: reason.GivenUp,
}
