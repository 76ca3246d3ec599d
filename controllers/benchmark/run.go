package benchmark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/admission"
	"storagebench.io/storagebench/controllers/nodes"
	"storagebench.io/storagebench/controllers/results"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/controllers/workers"
	"storagebench.io/storagebench/internal/policy"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/trial"
)

// scene is what a decision is taken on, and what carrying it out needs.
type scene struct {
	world progress.World
	plan  results.Plan
	// store is nil if there is none, and the run then goes no further (withoutStore).
	store *v1alpha1.ResultStore
	seen  map[string]workers.Seen
	nodes map[string]nodes.View
}

// run takes a recorded run a step further: it observes, decides, and acts.
func (r *Reconciler) run(ctx context.Context, p *pass) (done bool, err error) {
	s := &scene{nodes: map[string]nodes.View{}}
	p.outcome.Active = true
	if err := r.observeStore(ctx, p, s); err != nil {
		return true, err
	}
	if s.store == nil {
		return true, r.withoutStore(ctx, p)
	}
	if s.plan.Plan == nil {
		return true, r.withoutPlan(ctx, p, s)
	}
	if err := r.observeWorkers(ctx, p, s); err != nil {
		return true, err
	}
	return true, r.carryOut(ctx, p, s)
}

// carryOut decides and acts. If the store fails although its own check succeeded, it decides
// again with that: a run does not wait for a store beyond its timeout.
func (r *Reconciler) carryOut(ctx context.Context, p *pass, s *scene) error {
	d := progress.Decide(s.world)
	p.outcome = status.Outcome{Reason: d.Reason, Message: d.Message, Stalled: d.Stalled, Active: !d.Idle, Again: d.Again}
	status.SetCurrent(p.Status.Run, d.Current, d.Node)
	if current := s.world.Current(); current != nil && current.PodRunning && current.Name == d.Current {
		r.Workers.Runs(p.StorageBenchmark, current.Name)
		r.memory.cleared(p.UID)
		if n, ok := r.Results.CountStored(ctx, s.store, p.StorageBenchmark, current.Name, p.Status.Run.Current.TrialsStored); ok {
			status.SetStored(p.Status.Run, min(n, int32(len(s.plan.Trials))))
		}
	}
	for _, a := range d.Actions {
		err := r.act(ctx, p, s, a)
		failure, ok := errors.AsType[*trial.Failure](err)
		late := s.world.Started && s.world.Active >= s.world.Timeout
		if ok && failure.Class == reason.StoreUnavailable && late && s.world.StoreTrouble == nil {
			s.world.StoreTrouble = &progress.Trouble{Reason: string(failure.Class), Message: failure.Error(), MayPass: admission.MayPass(failure)}
			return r.carryOut(ctx, p, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish records the end of a run. failure is nil unless it ended the run as a whole.
func (r *Reconciler) finish(p *pass, failure *trial.Failure) {
	run := p.Status.Run
	status.SetCurrent(run, "", "")
	if failure != nil {
		status.Fail(run, status.End{Worker: status.WholeRun, Node: "-", Reason: string(failure.Class), Message: failure.Error()})
	}
	if active := status.Active(run, r.Clock.Now()); active > 0 {
		run.ActiveFor = &metav1.Duration{Duration: active.Round(time.Second)}
	}
	run.ActiveSince = nil
	run.FinishedAt = new(metav1.NewTime(r.Clock.Now()))
	p.outcome = status.Outcome{Again: staleRetry} // for its time to live
}

// timeout of a run: a new one in the spec counts at once, but never beyond the operator's limit, which
// only the start of a run is checked against.
func (r *Reconciler) timeout(p *pass) time.Duration {
	timeout := 2 * time.Hour // the API's default
	if p.Spec.Timeout != nil {
		timeout = p.Spec.Timeout.Duration
	}
	if limit := r.Limits.Timeout; limit > 0 {
		timeout = min(timeout, limit)
	}
	return timeout
}

// observeWorkers gathers the world of a run that has a plan.
func (r *Reconciler) observeWorkers(ctx context.Context, p *pass, s *scene) error {
	run := p.Status.Run
	s.world.Started = run.StartedAt != nil
	s.world.Active, s.world.Timeout = status.Active(run, r.Clock.Now()), r.timeout(p)
	var err error
	if s.seen, err = r.Workers.Of(ctx, p.StorageBenchmark, run.ID); err != nil {
		return err
	}
	ended := progress.ParseSet(run.Ended)
	for i, self := range s.plan.Workers {
		seen, isThere := s.seen[self.Name]
		if ended.Has(i) && !isThere {
			s.world.Workers = append(s.world.Workers, progress.Worker{Name: self.Name, Node: self.Node, Ended: true})
			continue
		}
		node, known := s.nodes[self.Node]
		if !known {
			if node, err = nodes.Look(ctx, r.Client, self.Node); err != nil {
				return err
			}
			s.nodes[self.Node] = node
		}
		worker := r.Workers.Observe(p.StorageBenchmark, self, ended.Has(i), seen, &node)
		worker.Unrecorded = worker.Job == progress.JobActive && node.Record == nil && s.plan.SetsTunables()
		s.world.Workers = append(s.world.Workers, worker)
	}
	if s.world.Held, err = r.Leases.Held(ctx, p.StorageBenchmark); err != nil {
		return err
	}
	current := s.world.Current()
	if current == nil {
		return nil
	}
	if current.Job == progress.JobActive && !current.PodRunning && current.NodeState != progress.NodeAway {
		if current.Trouble, err = r.Workers.Why(ctx, s.seen[current.Name], current.Node); err != nil {
			return err
		}
	}
	s.world.Claim, err = r.Leases.Claim(ctx, p.StorageBenchmark, current.Node)
	if err == nil && s.world.Claim.Mine {
		err = r.Leases.Renew(ctx, current.Node, r.timeout(p))
	}
	return err
}

// act carries out one action. Every action may be repeated.
func (r *Reconciler) act(ctx context.Context, p *pass, s *scene, a progress.Action) error {
	job := s.seen[a.Worker].Job
	switch a.Verb {
	case progress.Acquire:
		return r.Leases.Acquire(ctx, p.StorageBenchmark, a.Node, r.timeout(p))
	case progress.Release:
		return r.Leases.Release(ctx, p.StorageBenchmark, a.Node)
	case progress.Start, progress.Resume:
		return r.begin(ctx, p, s, a)
	case progress.Park:
		return r.Workers.Park(ctx, p.StorageBenchmark, a.Worker, job, progress.Trouble{Reason: a.Reason, Message: a.Message, MayPass: !p.outcome.Stalled})
	case progress.Discard:
		return r.Workers.Discard(ctx, job)
	case progress.Record:
		self, _, err := s.plan.Worker(a.Worker)
		if err != nil {
			return err
		}
		return r.Workers.Record(ctx, workers.Order{Benchmark: p.StorageBenchmark, Plan: s.plan.Plan, Worker: self, NodeUID: s.nodes[self.Node].UID}, job)
	case progress.CleanUp:
		return r.Workers.Remove(ctx, p.StorageBenchmark, a.Worker, job)
	case progress.Settle, progress.Abandon:
		return r.settle(ctx, p, s, a)
	case progress.Conclude:
		return r.conclude(ctx, p, s)
	}
	return fmt.Errorf("%q is not an action", a.Verb)
}

// begin starts a worker, or lets a parked one go again, if it may still change what the plan
// says. If that fails, the node is given back, unless the next pass is likely to go on.
func (r *Reconciler) begin(ctx context.Context, p *pass, s *scene, a progress.Action) error {
	self, target, err := s.plan.Worker(a.Worker)
	if err != nil {
		return err
	}
	r.memory.setEmpty(p.UID, false)
	err = r.beginOn(ctx, p, s, a, self, target)
	if err == nil || errors.Is(err, stores.ErrBusy) || trial.AsFailure(err).Class == reason.Starting {
		return err
	}
	return errors.Join(err, r.Leases.Release(ctx, p.StorageBenchmark, self.Node))
}

func (r *Reconciler) beginOn(ctx context.Context, p *pass, s *scene, a progress.Action, self trial.Worker, target trial.Target) error {
	whole, err := r.whole(ctx, p)
	if err != nil {
		return err
	}
	facts, err := admission.Gather(ctx, r.Client, r.Live, r.Limits, whole)
	if err != nil {
		return err
	}
	if err := admission.Permitted(facts, r.Rules, s.plan.Plan, policy.Node{Name: self.Node, Labels: s.nodes[self.Node].Labels}); err != nil {
		return r.endWorker(p, s, self.Name, results.Settled{Failure: trial.AsFailure(err)})
	}
	bucket, err := r.Results.Open(ctx, s.store)
	if err != nil {
		return err
	}
	authority, err := r.Results.Authority(ctx, s.store)
	if err != nil {
		return err
	}
	var sealingKey []byte
	if sealed(p.Status.Run) {
		if sealingKey, err = r.Results.SealingKey(ctx, s.plan.Plan, self.Name); err != nil {
			return err
		}
	}
	if p.Status.Run.StartedAt == nil {
		p.Status.Run.StartedAt = new(metav1.NewTime(r.Clock.Now()))
	}
	order := workers.Order{
		Benchmark: whole, Plan: s.plan.Plan, Document: s.plan.Document, Worker: self, Target: target,
		Bucket: bucket, CABundle: authority, SealingKey: sealingKey, NodeUID: s.nodes[self.Node].UID,
		Left:  max(0, r.timeout(p)-s.world.Active),
		Share: share(p.Status.Run, s.plan.Plan), Last: unended(p.Status.Run, s.plan.Plan) == 1,
	}
	if a.Verb == progress.Resume {
		return r.Workers.Resume(ctx, order, s.seen[a.Worker].Job)
	}
	return r.Workers.Start(ctx, order)
}

// settle records how a worker ended: what the store has of it, and what its receipt says.
func (r *Reconciler) settle(ctx context.Context, p *pass, s *scene, a progress.Action) error {
	self, _, err := s.plan.Worker(a.Worker)
	if err != nil {
		return err
	}
	override := &trial.Failure{Class: trial.Class(a.Reason), Message: a.Message}
	if a.Verb == progress.Abandon {
		return r.endWorker(p, s, a.Worker, results.Settled{Failure: override})
	}
	// What was accepted once must stay: the status has its digest.
	if err := r.unfinished(ctx, p, slices.Index(s.plan.Workers, self)); err != nil {
		return err
	}
	seen := s.seen[a.Worker]
	had, err := r.Workers.Share(ctx, seen.Job, share(p.Status.Run, s.plan.Plan))
	if err != nil {
		return err
	}
	settled, err := r.Results.Settle(ctx, s.store, s.plan.Plan, results.Ended{Worker: self, Share: had, Receipt: seen.Receipt(s.plan.Plan, a.Worker), Sealed: sealed(p.Status.Run)})
	if err != nil {
		return err
	}
	if f := settled.Failure; f != nil && f.Class == reason.WorkerLost && a.Reason != "" {
		settled.Failure = override
	}
	return r.endWorker(p, s, a.Worker, settled)
}

func (r *Reconciler) endWorker(p *pass, s *scene, name string, settled results.Settled) error {
	for i, self := range s.plan.Workers {
		if self.Name != name {
			continue
		}
		end := status.End{Position: i, Worker: name, Node: self.Node, Stored: settled.Stored, Spared: settled.Spared, Digest: settled.Digest}
		if failure := settled.Failure; failure != nil {
			end.Reason, end.Message = string(failure.Class), failure.Error()
		}
		if s.plan.HasBudget() {
			end.Spent = &settled.Spent
		}
		status.EndWorker(p.Status.Run, end)
	}
	p.outcome.Again = staleRetry
	return nil
}

// unfinished asks the API server whether the run is still the one that p shows. The cache of an
// operator that has just started can be behind, and the summary of a run that is over must not
// be written again, nor what was accepted of a worker whose end is recorded: those at these positions in the plan.
func (r *Reconciler) unfinished(ctx context.Context, p *pass, workers ...int) error {
	b := &v1alpha1.StorageBenchmark{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(p.StorageBenchmark), b); err != nil {
		return err
	}
	if b.UID != p.UID || b.Status.Run == nil || b.Status.Run.ID != p.Status.Run.ID || b.Status.Run.FinishedAt != nil ||
		slices.ContainsFunc(workers, progress.ParseSet(b.Status.Run.Ended).Has) {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("storagebenchmarks").GroupResource(), p.Name, errChanged)
	}
	return nil
}

// acceptedOf returns what the status says of the documents that were accepted; nil: release 0.2 began the run, and
// it says nothing.
func acceptedOf(run *v1alpha1.RunStatus) *results.Accepted {
	if run.Accepted == nil {
		return nil
	}
	return &results.Accepted{Positions: progress.Positions(run.Accepted.Workers), Digest: run.Accepted.Digest}
}

// sealed reports whether the run's workers seal what they store. Release 0.2 gave them no keys, and what they stored still counts.
func sealed(run *v1alpha1.RunStatus) bool { return run.Accepted != nil }

// conclude folds what was accepted of the workers into the run's summary and ends the run.
func (r *Reconciler) conclude(ctx context.Context, p *pass, s *scene) error {
	if s.world.StoreTrouble != nil {
		r.finish(p, &trial.Failure{Class: reason.ResultsNotStored, Message: "the run's summary could not be stored: " + s.world.StoreTrouble.Message})
		return nil
	}
	if err := r.unfinished(ctx, p); err != nil {
		return err
	}
	summary, digest, err := r.Results.Conclude(ctx, s.store, s.plan.Plan, acceptedOf(p.Status.Run), baselineOf(p.StorageBenchmark), r.Clock.Now())
	if failure, ok := errors.AsType[*trial.Failure](err); ok && (failure.Class == reason.LimitExceeded || failure.Class == reason.ResultsRejected) {
		r.finish(p, failure) // the next try would come to the same
		return nil
	}
	if err != nil {
		return err
	}
	status.SetCurrent(p.Status.Run, "", "")
	status.SetTotals(p.Status.Run, int32(summary.Stored))
	status.Summary(&p.Status, summary)
	p.Status.Run.SummaryDigest = digest
	if p.Status.LatestQualified == summary.Run {
		p.Status.LatestQualifiedDigest = digest
	}
	r.finish(p, nil)
	return nil
}
