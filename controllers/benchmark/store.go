package benchmark

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/admission"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/trial"
)

// observeStore finds the run's store and its plan, and what is the matter with them. The
// scene has no store if the ResultStore was deleted.
func (r *Reconciler) observeStore(ctx context.Context, p *pass, s *scene) error {
	rs, err := r.storeOf(ctx, p)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	r.memory.storeFound(client.ObjectKeyFromObject(p.StorageBenchmark))
	failure := admission.StoreTrouble(rs)
	s.store = rs
	plan, digest, err := r.Results.Plan(ctx, rs, p.StorageBenchmark)
	s.plan = plan
	if err := r.adoptPlan(p, digest, err); err != nil && failure == nil && !errors.As(err, &failure) {
		return err
	}
	if failure != nil {
		s.world.StoreTrouble = &progress.Trouble{Reason: string(failure.Class), Message: failure.Error(), MayPass: admission.MayPass(failure)}
	}
	return nil
}

// storeOf returns the store of a benchmark's run.
func (r *Reconciler) storeOf(ctx context.Context, p *pass) (*v1alpha1.ResultStore, error) {
	name := p.ResultStoreName()
	if name == "" {
		return stores.Internal(), nil
	}
	rs := &v1alpha1.ResultStore{}
	return rs, r.Get(ctx, types.NamespacedName{Name: name}, rs)
}

// storeGonePatience is how long a run waits for a ResultStore that was deleted: somebody may
// be about to create it again. After that it gives its nodes back.
const storeGonePatience = 20 * time.Second

// withoutStore ends a run whose ResultStore was deleted: nobody can read what its workers
// upload. A run that has not begun loses nothing, so it waits for the store, and holds
// nothing meanwhile.
func (r *Reconciler) withoutStore(ctx context.Context, p *pass) error {
	name := p.ResultStoreName()
	failure := &trial.Failure{
		Class: reason.ResultStoreNotFound, Field: "spec.results.storeRef.name",
		Message: fmt.Sprintf("the ResultStore %s was deleted", name), Remedy: "create it again",
	}
	begun := p.Status.Run.StartedAt != nil
	if left := storeGonePatience - r.memory.storeGone(client.ObjectKeyFromObject(p.StorageBenchmark), r.Clock.Now()); left > 0 {
		if begun {
			failure.Remedy = fmt.Sprintf("unless it is created again within %s, the run ends", storeGonePatience)
		}
		p.outcome = status.Outcome{Reason: string(failure.Class), Message: failure.Error(), Active: true, Again: left}
		return nil
	}
	p.outcome = status.Outcome{Reason: string(failure.Class), Message: failure.Error(), Stalled: true}
	left, err := r.clear(ctx, p)
	if err != nil || left != "" {
		p.outcome.Message, p.outcome.Again = failure.Error()+waitsFor(left), poll
		return err
	}
	if begun {
		failure.Message += " while the run needed it"
		failure.Remedy = "create it again, then change spec.runID to run again"
		r.finish(p, failure)
	}
	return nil
}

// waitsFor is the end of a message that says what of the run is still being removed.
func waitsFor(left string) string {
	if left == "" {
		return ""
	}
	return "; meanwhile the operator removes what is left of the run, and waits for " + left
}

// withoutPlanFor is how long after its timeout a run is kept whose plan cannot be read: as
// long as one whose results cannot be stored (package progress).
const withoutPlanFor = 10 * time.Minute

// withoutPlan handles a run whose plan cannot be read. Its workers go on by themselves. The run
// ends after its timeout, or at once if somebody replaced the plan.
func (r *Reconciler) withoutPlan(ctx context.Context, p *pass, s *scene) error {
	run, t := p.Status.Run, s.world.StoreTrouble
	if t == nil {
		// Of release 0.1, and none of its workers has begun: start makes the plan.
		p.outcome = status.Underway(reason.Pending, "building the plan of a run that an earlier release recorded", staleRetry)
		return nil
	}
	p.outcome = status.Outcome{Reason: t.Reason, Message: t.Message, Stalled: !t.MayPass, Active: true, Again: 15 * time.Second}
	over := run.StartedAt != nil && status.Active(run, r.Clock.Now()) > r.timeout(p)+withoutPlanFor
	if t.Reason != reason.PlanTampered && !over {
		return nil
	}
	left, err := r.clear(ctx, p)
	if err != nil || left != "" {
		p.outcome.Message = t.Message + waitsFor(left)
		return err
	}
	r.finish(p, &trial.Failure{Class: trial.Class(t.Reason), Message: t.Message})
	return nil
}
