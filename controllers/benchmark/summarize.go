package benchmark

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/restore"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/trial"
)

// errChanged: the benchmark was changed while a pass looked at it.
var errChanged = errors.New("it was changed in the meantime")

// conflictRetry is how soon a pass is made again that lost a race.
const conflictRetry = 100 * time.Millisecond

// summarize ends every pass: it writes the status if it changed, tells what changed as an
// event, and says when to look again. err is what ended the pass early, if anything.
func (r *Reconciler) summarize(ctx context.Context, p *pass, err error) (ctrl.Result, error) {
	if p.gone || apierrors.IsNotFound(err) && !r.exists(ctx, p) {
		return ctrl.Result{}, nil
	}
	if apierrors.IsConflict(err) {
		// Another pass will see what has changed; nothing is said of this one.
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	}
	if errors.Is(err, stores.ErrBusy) {
		// The benchmark waits for others, and keeps all that it has: its status, its node, its place in the queue.
		return ctrl.Result{RequeueAfter: p.turn.Again()}, nil
	}
	if err != nil {
		active := p.outcome.Active
		p.outcome = status.Failure(err)
		p.outcome.Active = active
		if _, ok := errors.AsType[*trial.Failure](err); ok {
			// Somebody must act, or time must pass: the queue's own backoff is for errors.
			err = nil
			p.outcome.Again = r.memory.wait(client.ObjectKeyFromObject(p.StorageBenchmark), p.outcome.Reason)
		}
	} else {
		r.memory.waited(client.ObjectKeyFromObject(p.StorageBenchmark))
	}
	records, listErr := r.Records.Of(ctx, p.UID)
	if listErr != nil {
		return ctrl.Result{}, errors.Join(err, listErr)
	}
	status.Summarize(&p.Status, status.Pass{Generation: p.Generation, Now: r.Clock.Now(), Outcome: p.outcome, Records: restore.Views(records), Gates: len(p.Spec.Gates)})
	if writeErr := r.write(ctx, p); writeErr != nil {
		if apierrors.IsConflict(writeErr) {
			return ctrl.Result{RequeueAfter: conflictRetry}, nil
		}
		return ctrl.Result{}, errors.Join(err, client.IgnoreNotFound(writeErr))
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: p.outcome.Again}, nil
}

func (r *Reconciler) exists(ctx context.Context, p *pass) bool {
	return r.Get(ctx, client.ObjectKeyFromObject(p.StorageBenchmark), &v1alpha1.StorageBenchmark{}) == nil
}

// write writes the status, if it changed, and then the event. A conflict means that the
// benchmark has moved on.
func (r *Reconciler) write(ctx context.Context, p *pass) error {
	if equality.Semantic.DeepEqual(p.before.Status, p.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(p.before, client.MergeFromWithOptimisticLock{})
	written := p.DeepCopy()
	if err := r.Status().Patch(ctx, written, patch); err != nil {
		return err
	}
	r.memory.writes.Set(written.UID, written.ResourceVersion)
	r.tell(p)
	return nil
}

// inPassing has the reasons that last for a moment. They make no event, which would cost the
// API server as much as a change of the benchmark.
var inPassing = map[string]bool{reason.Pending: true, reason.Starting: true, reason.Deleting: true}

// tell emits an event when the reason of Ready has changed.
func (r *Reconciler) tell(p *pass) {
	was := meta.FindStatusCondition(p.before.Status.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	if is == nil || inPassing[is.Reason] || was != nil && was.Reason == is.Reason && was.Status == is.Status {
		return
	}
	kind := corev1.EventTypeNormal
	if meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionStalled) {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(p.StorageBenchmark, nil, kind, is.Reason, "Benchmark", "%s", is.Message)
}
