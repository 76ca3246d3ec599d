package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/policy"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/trial"
)

// +kubebuilder:rbac:groups=storagebench.io,resources=storagebenchmarks,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=storagebench.io,resources=storagebenchmarks/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=storagebench.io,resources=storagebenchmarks/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps;secrets,verbs=create;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;create
// +kubebuilder:rbac:groups="",resources=persistentvolumes;namespaces,verbs=get
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups="",namespace=storagebench-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=get
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=storagebench-system,resources=leases,verbs=get;list;watch;create;update;patch;delete

// Finalizer keeps a benchmark until its Jobs and volumes are gone and its nodes
// are given back.
const Finalizer = "storagebench.io/cleanup"

// retryBlocked is how soon a spec that cannot run is checked again, as what it
// needs (a StorageClass, a node, a label) can come into being.
const retryBlocked = 15 * time.Second

// StorageBenchmarkReconciler takes StorageBenchmarks from spec to status.
type StorageBenchmarkReconciler struct {
	// Client reads benchmarks, stores, Jobs, Pods and Leases from the cache.
	client.Client
	// Live reads from the API server what is looked at once in a while.
	Live client.Reader
	// Namespace is the operator's own, where the nodes' Leases are.
	Namespace string
	Buckets   *Buckets
	Engines   plan.Checker
	Tunables  policy.Catalogue
	Settings  jobspec.Settings
	Host      HostAccess
	Events    events.EventRecorder
	Clock     clock.PassiveClock
}

// SetupWithManager registers the controller.
func (r *StorageBenchmarkReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.StorageBenchmark{}).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(podToBenchmark)).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(r.waitingFor(v1alpha1.ReasonQueued))).
		Watches(&v1alpha1.ResultStore{}, handler.EnqueueRequestsFromMapFunc(r.waitingFor(v1alpha1.ReasonStoreUnavailable, v1alpha1.ReasonResultStoreNotFound))).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

// Reconcile takes one benchmark a step further.
func (r *StorageBenchmarkReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	b := &v1alpha1.StorageBenchmark{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !b.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, b)
	}
	if !controllerutil.ContainsFinalizer(b, Finalizer) {
		before := b.DeepCopy()
		controllerutil.AddFinalizer(b, Finalizer)
		if err := r.Patch(ctx, b, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	before := b.DeepCopy()
	again, err := r.step(ctx, b)
	if failure, ok := errors.AsType[*trial.Failure](err); ok {
		if errors.Is(failure, errWait) {
			r.writer(b).Underway(string(failure.Class), failure.Error())
		} else {
			r.writer(b).Blocked(string(failure.Class), failure.Error())
		}
		again, err = retryBlocked, nil
	}
	return r.writeStatus(ctx, before, b, again, err)
}

// step is one pass through a benchmark's life. It changes b.Status only; the
// caller writes it, also after an error.
func (r *StorageBenchmarkReconciler) step(ctx context.Context, b *v1alpha1.StorageBenchmark) (again time.Duration, err error) {
	hash, err := plan.SpecHash(b.Spec)
	if err != nil {
		return 0, err
	}
	current := b.Status.Run != nil && b.Status.Run.SpecHash == hash
	if current && b.Status.Run.FinishedAt != nil {
		r.writer(b).Observed() // suspend or ttlAfterFinished may have changed
		return r.expire(ctx, b)
	}
	if b.Spec.Suspend || !current {
		if clean, err := r.clear(ctx, b); err != nil || !clean {
			if !r.beingRestored(b) {
				r.writer(b).Underway(v1alpha1.ReasonPending, "removing the Jobs and volumes of the last run")
			}
			return time.Second, err
		}
	}
	if b.Spec.Suspend {
		suspend(b.Status.Run)
		r.writer(b).Underway(v1alpha1.ReasonSuspended, "spec.suspend is true; set it to false to carry on after the last stored trial")
		return 0, nil
	}
	if !current {
		if err := r.startRun(ctx, b, hash); err != nil {
			return 0, err
		}
		// Nothing is made before the run is recorded: the write of the status
		// brings the benchmark back here.
		r.writer(b).Underway(v1alpha1.ReasonPending, fmt.Sprintf("run %s is recorded: %d workers, %d trials", b.Status.Run.ID, len(b.Status.Run.Workers), b.Status.Run.TrialsPlanned))
		return time.Second, nil
	}
	observed, err := r.observe(ctx, b)
	if err != nil {
		return 0, err
	}
	decision := progress.Decide(observed.world)
	r.say(b, decision)
	r.sayTunables(b, decision.Reason == progress.ReasonRestoring)
	return decision.Again, r.act(ctx, b, observed, decision)
}

// say writes a decision into the conditions.
func (r *StorageBenchmarkReconciler) say(b *v1alpha1.StorageBenchmark, d progress.Decision) {
	if d.Stalled {
		r.writer(b).Blocked(d.Reason, d.Message)
		return
	}
	r.writer(b).Underway(d.Reason, d.Message)
}

// expire deletes a finished benchmark when its time to live is over.
func (r *StorageBenchmarkReconciler) expire(ctx context.Context, b *v1alpha1.StorageBenchmark) (time.Duration, error) {
	if b.Spec.TTLAfterFinished == nil {
		return 0, nil
	}
	left := b.Status.Run.FinishedAt.Add(b.Spec.TTLAfterFinished.Duration).Sub(r.Clock.Now())
	if left > 0 {
		return left, nil
	}
	return 0, client.IgnoreNotFound(r.Delete(ctx, b, client.Preconditions{UID: &b.UID}))
}

// finalize removes what a benchmark made and then lets it go.
func (r *StorageBenchmarkReconciler) finalize(ctx context.Context, b *v1alpha1.StorageBenchmark) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(b, Finalizer) {
		return ctrl.Result{}, nil
	}
	before := b.DeepCopy()
	clean, err := r.clear(ctx, b)
	if err != nil || !clean {
		if !r.beingRestored(b) {
			r.writer(b).Underway(v1alpha1.ReasonDeleting, "removing the benchmark's Jobs and volumes")
		}
		return r.writeStatus(ctx, before, b, time.Second, err)
	}
	controllerutil.RemoveFinalizer(b, Finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// writeStatus writes the status if it changed, and then tells what changed as an
// event. A conflict means that the benchmark has moved on: it is looked at again.
func (r *StorageBenchmarkReconciler) writeStatus(ctx context.Context, before, b *v1alpha1.StorageBenchmark, again time.Duration, err error) (ctrl.Result, error) {
	if equality.Semantic.DeepEqual(before.Status, b.Status) {
		return requeue(again, err)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if patchErr := r.Status().Patch(ctx, b, patch); patchErr != nil {
		err = errors.Join(err, client.IgnoreNotFound(patchErr))
	} else {
		r.tell(before, b)
	}
	return requeue(again, err)
}

// requeue maps an error to another try.
func requeue(again time.Duration, err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// tell emits an event when the reason of Ready changes.
func (r *StorageBenchmarkReconciler) tell(before, b *v1alpha1.StorageBenchmark) {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	if is == nil || was != nil && was.Reason == is.Reason && was.Status == is.Status {
		return
	}
	kind := corev1.EventTypeNormal
	if meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled) {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(b, nil, kind, is.Reason, "Benchmark", "%s", is.Message)
}

func (r *StorageBenchmarkReconciler) writer(b *v1alpha1.StorageBenchmark) status.Writer {
	return status.Writer{Status: &b.Status, Generation: b.Generation, Now: r.Clock.Now()}
}

func podToBenchmark(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[jobspec.LabelBenchmark]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

// waitingFor maps any object to the benchmarks whose Ready has one of the reasons.
func (r *StorageBenchmarkReconciler) waitingFor(reasons ...string) handler.MapFunc {
	return func(ctx context.Context, _ client.Object) []reconcile.Request {
		var requests []reconcile.Request
		list := &v1alpha1.StorageBenchmarkList{}
		if err := r.List(ctx, list); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot list benchmarks that wait")
			return nil
		}
		for i := range list.Items {
			for _, reason := range reasons {
				if readyReason(&list.Items[i]) == reason {
					requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
				}
			}
		}
		return requests
	}
}

func readyReason(b *v1alpha1.StorageBenchmark) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}
