package benchmark

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/internal/store/inbox"
)

// rest looks after a finished run. It gives its nodes back, also one that does not answer and
// still has a Pod, and deletes the benchmark when its time to live is over.
func (r *Reconciler) rest(ctx context.Context, p *pass) (done bool, err error) {
	if p.Status.Run == nil || p.Status.Run.FinishedAt == nil || !p.unchanged() {
		return false, nil
	}
	r.Workers.Forget(p.UID)
	if err := r.Results.Drop(ctx, p.Namespace, p.Name, inbox.Keep{Baselines: baselinesOf(p.StorageBenchmark)}); err != nil {
		return true, err
	}
	if err := r.Leases.ReleaseAll(ctx, p.StorageBenchmark); err != nil {
		return true, err
	}
	if p.Spec.TTLAfterFinished == nil {
		return true, nil
	}
	left := p.Status.Run.FinishedAt.Add(p.Spec.TTLAfterFinished.Duration).Sub(r.Clock.Now())
	if left > 0 {
		p.outcome.Again = left
		return true, nil
	}
	err = r.Delete(ctx, p.StorageBenchmark, client.Preconditions{UID: &p.UID})
	return true, action.Done(ctx, "expire", p.StorageBenchmark, client.IgnoreNotFound(err))
}
