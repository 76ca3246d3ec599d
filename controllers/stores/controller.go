package stores

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/internal/status"
)

// How often a store is checked, and how long a check may take.
const (
	storeCheckWhileGood = time.Minute
	storeCheckWhileBad  = 10 * time.Second
	storeCheckTimeout   = 15 * time.Second
)

// Reconciler keeps the condition Available of ResultStores up to date.
type Reconciler struct {
	client.Client
	Buckets *Buckets
	Clock   clock.PassiveClock
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.ResultStore{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{RateLimiter: action.Retries()}).
		Complete(r)
}

// Reconcile checks one store and writes what it found.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	rs := &v1alpha1.ResultStore{}
	if err := r.Get(ctx, req.NamespacedName, rs); err != nil {
		if apierrors.IsNotFound(err) {
			r.Buckets.Gone(req.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !rs.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := rs.DeepCopy()

	condition := metav1.Condition{
		Type:               v1alpha1.ConditionAvailable,
		Status:             metav1.ConditionTrue,
		Reason:             reason.StoreWritable,
		Message:            "an object was written, read and deleted under the prefix",
		ObservedGeneration: rs.Generation,
	}
	again := storeCheckWhileGood
	if err := r.check(ctx, rs); err != nil {
		condition.Status, again = metav1.ConditionFalse, storeCheckWhileBad
		condition.Reason, condition.Message = Trouble(rs, err)
		condition.Message = status.Shorten(condition.Message, 1024)
	}
	now := metav1.NewTime(r.Clock.Now())
	condition.LastTransitionTime = now
	meta.SetStatusCondition(&rs.Status.Conditions, condition)
	rs.Status.LastCheckTime, rs.Status.ObservedGeneration = &now, rs.Generation

	if err := r.Status().Patch(ctx, rs, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

func (r *Reconciler) check(ctx context.Context, rs *v1alpha1.ResultStore) error {
	ctx, cancel := context.WithTimeout(ctx, storeCheckTimeout)
	defer cancel()
	bucket, err := r.Buckets.Refresh(ctx, rs)
	if err != nil {
		return err
	}
	return bucket.Check(ctx)
}
