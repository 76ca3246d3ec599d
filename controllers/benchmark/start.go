package benchmark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/admission"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/store/inbox"
	"storagebench.io/storagebench/internal/trial"
)

// betweenRuns is how long after a run was recorded the next one is. Each stores a plan of up to half a MiB, without a
// ResultStore in etcd, and a few bytes of the spec or of an annotation ask for it.
const betweenRuns = 10 * time.Second

// pause is how long the next run must wait for that.
func (r *Reconciler) pause(run *v1alpha1.RunStatus) time.Duration {
	if run == nil {
		return 0
	}
	return min(run.QueuedAt.Add(betweenRuns).Sub(r.Clock.Now()), betweenRuns) // the clock may have gone back
}

// start checks all that the spec needs, builds and stores the plan, and records the run. It
// creates nothing in the cluster.
func (r *Reconciler) start(ctx context.Context, p *pass) (done bool, err error) {
	replan := p.Status.Run != nil && p.Status.Run.PlanDigest == "" && p.Status.Run.StartedAt == nil
	if p.unchanged() && !replan {
		return false, nil
	}
	if left := r.pause(p.Status.Run); left > 0 && !replan {
		p.outcome = status.Underway(reason.Pending, fmt.Sprintf("runs of a benchmark begin at least %s apart; this one begins by itself", betweenRuns), left)
		return true, nil
	}
	whole, err := r.whole(ctx, p)
	if err != nil {
		return true, err
	}
	facts, err := admission.Gather(ctx, r.Client, r.Live, r.Limits, whole)
	if err != nil {
		return true, err
	}
	run := plan.RunID(p.StorageBenchmark)
	if replan {
		run = p.Status.Run.ID
	}
	built, err := r.plan(ctx, p, facts, run)
	if err != nil {
		return true, err
	}
	digest, err := r.Results.StorePlan(ctx, facts.Store, built)
	if err == nil {
		err = r.Results.Drop(ctx, p.Namespace, p.Name, inbox.Keep{Run: run, Baselines: baselinesOf(p.StorageBenchmark)}) // of an earlier run
	}
	if err != nil {
		return true, err
	}
	queuedAt := metav1.NewMicroTime(r.Clock.Now())
	if replan {
		queuedAt = p.Status.Run.QueuedAt // its place in the queue
	}
	p.Status.Run = &v1alpha1.RunStatus{
		ID:            run,
		SpecHash:      SpecHash(p.StorageBenchmark),
		Generation:    p.Generation,
		Rerun:         plan.Rerun(p.StorageBenchmark),
		PlanDigest:    digest,
		Location:      location(facts.Store, built.Keys()),
		ResultStore:   chosenStore(p, facts.Store),
		StatusOnly:    stores.IsInternal(facts.Store),
		QueuedAt:      queuedAt,
		TrialsPlanned: int32(len(built.Trials) * len(built.Workers)),
		WorkersTotal:  int32(len(built.Workers)),
		Accepted:      &v1alpha1.AcceptedWorkers{},
	}
	status.SetTotals(p.Status.Run, 0)
	for _, note := range append(admission.Notes(facts), timeoutNotes(plan.Duration(built, r.Rules.Engines), r.timeout(p))...) {
		status.AddNote(p.Status.Run, note)
	}
	// The last run's comparisons do not belong to this one.
	p.Status.Summary, p.Status.SummaryOmitted, p.Status.Headline, p.Status.Comparisons = nil, 0, "", nil
	p.Status.Gates, p.Status.Answer, p.Status.Baseline, p.Status.Facts, p.Status.Sweeps = nil, nil, nil, nil, nil
	p.outcome = status.Underway(reason.Pending, fmt.Sprintf("run %s is recorded: %s of %s", run,
		status.Count(p.Status.Run.TrialsPlanned, "trial"), status.Count(p.Status.Run.WorkersTotal, "worker")), staleRetry)
	return true, nil
}

// timeoutNotes say that a run's trials do not fit in its timeout. It is no reason to refuse the
// run: what is measured until then is stored, and summarized.
func timeoutNotes(trials, timeout time.Duration) []string {
	if trials <= timeout {
		return nil
	}
	return []string{fmt.Sprintf("the trials, with all rounds of preconditions, take about %s, but spec.timeout ends the run after %s; raise it or measure less", trials.Round(time.Second), timeout)}
}

// plan builds the plan of a run. After a failure it does not try again until one of its inputs
// has changed.
func (r *Reconciler) plan(ctx context.Context, p *pass, facts admission.Facts, run string) (*trial.Plan, error) {
	input, err := admission.Admit(facts, r.Rules, run)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(p.StorageBenchmark)
	built, err := json.Marshal([]any{p.UID, p.Generation, input.Nodes, input.Modes, input.Variants})
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	from := trial.Digest(built)
	if failure := r.memory.refused(key, from); failure != nil {
		return nil, failure
	}
	if _, err := r.Results.Open(ctx, facts.Store); errors.Is(err, stores.ErrBusy) {
		return nil, err // before a plan is built that cannot be stored
	}
	out, err := plan.Build(input)
	if failure, ok := errors.AsType[*trial.Failure](err); ok {
		r.memory.refuse(key, from, failure)
	}
	return out, err
}

// chosenStore is what is recorded of a store that the spec does not name.
func chosenStore(p *pass, rs *v1alpha1.ResultStore) string {
	if p.Spec.Results != nil {
		return ""
	}
	return rs.Name
}

func location(rs *v1alpha1.ResultStore, keys trial.Keys) string {
	if stores.IsInternal(rs) {
		return ""
	}
	parts := []string{rs.Spec.Bucket}
	if rs.Spec.Prefix != "" {
		parts = append(parts, rs.Spec.Prefix)
	}
	return "s3://" + strings.Join(append(parts, keys.Prefix()), "/")
}
