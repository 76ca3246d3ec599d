package benchmark

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/controllers/results"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/trial"
)

// adopt takes over a run that release 0.1 recorded: its list of workers, and its list of
// nodes that are not restored. Nothing of it is run again.
func (r *Reconciler) adopt(ctx context.Context, p *pass) (done bool, err error) {
	run := p.Status.Run
	if run == nil || run.Generation != 0 && len(run.Workers) == 0 && len(run.Unrestored) == 0 {
		return false, nil
	}
	if len(run.Unrestored) > 0 {
		if err := r.adoptNodes(ctx, p); err != nil {
			return true, err
		}
		run.Unrestored = nil
	}
	if run.Generation == 0 {
		run.Generation = generationOf(p.StorageBenchmark)
	}
	// That release counted the time from the start of the run, waiting included. If no worker
	// runs now, nobody knows since when the run has waited, so its time counts from zero.
	runs := slices.ContainsFunc(run.Workers, func(w v1alpha1.WorkerStatus) bool { return w.Phase == v1alpha1.WorkerRunning })
	if runs && run.StartedAt != nil && run.FinishedAt == nil && run.ActiveSince == nil && run.ActiveFor == nil {
		run.ActiveSince = run.StartedAt
	}
	if len(run.Workers) > 0 {
		adoptWorkers(run)
	}
	return false, nil
}

// generationEnd is where a run's ID says of which generation of the spec the run is.
var generationEnd = regexp.MustCompile(`(?:^|-)g([0-9]+)-[0-9a-f]{8}$`)

// generationOf returns the generation of the spec that the recorded run measures. Release 0.1
// recorded a hash only. If the hash still matches, the run is of the present spec. If not,
// either somebody changed the spec since, or this release added a default; the generation in
// the run's ID tells which.
func generationOf(b *v1alpha1.StorageBenchmark) int64 {
	if hash := b.Status.Run.SpecHash; hash == SpecHash(b) || isLegacySpecHash(hash, b) {
		return b.Generation
	}
	if found := generationEnd.FindStringSubmatch(b.Status.Run.ID); found != nil {
		if generation, err := strconv.ParseInt(found[1], 10, 64); err == nil {
			return generation
		}
	}
	return b.Status.ObservedGeneration
}

// adoptWorkers turns a list of workers into what replaces it.
func adoptWorkers(run *v1alpha1.RunStatus) {
	old := run.Workers
	run.Workers = nil
	run.WorkersTotal = int32(len(old))
	ended, stored := progress.Set{}, int32(0)
	run.WorkersDone, run.WorkersFailed, run.Failures, run.Current = 0, 0, nil, nil
	for i, w := range old {
		switch w.Phase {
		case v1alpha1.WorkerDone:
			run.WorkersDone++
		case v1alpha1.WorkerFailed:
			run.WorkersFailed++
			status.Fail(run, status.End{Worker: w.Name, Node: w.Node, Reason: w.Reason, Message: w.Message})
		case v1alpha1.WorkerRunning:
			run.Current = &v1alpha1.CurrentWorker{Worker: w.Name, Node: w.Node, TrialsStored: w.TrialsStored}
			stored += w.TrialsStored
			continue
		default:
			continue // what it has stored counts when it runs again
		}
		ended = ended.With(i)
		stored += w.TrialsStored
	}
	run.Ended = ended.String()
	if run.FinishedAt == nil {
		status.SetTotals(run, stored)
	}
}

// adoptNodes writes the records of nodes whose settings may be changed. The worker that
// changed them may run still.
func (r *Reconciler) adoptNodes(ctx context.Context, p *pass) error {
	all, err := r.Workers.Of(ctx, p.StorageBenchmark, "")
	if err != nil {
		return err
	}
	settings, err := r.adoptSettings(ctx, p)
	if err != nil {
		return err
	}
	for _, name := range p.Status.Run.Unrestored {
		if err := r.discardOldRestore(ctx, name); err != nil {
			return err
		}
		node := &corev1.Node{}
		if err := r.Get(ctx, types.NamespacedName{Name: name}, node); apierrors.IsNotFound(err) {
			continue // it is gone, and what was changed on it went with it
		} else if err != nil {
			return err
		}
		// The Job of the worker on that node, or one that never was: then nothing runs.
		worker, job := "of-release-0.1", &batchv1.Job{}
		job.Name, job.UID = "of-release-0.1", p.UID
		for _, w := range p.Status.Run.Workers {
			if w.Node == name && all[w.Name].Job != nil {
				worker, job = w.Name, all[w.Name].Job
			}
		}
		err := r.Records.Open(ctx, name, v1alpha1.NodeRestoreSpec{
			NodeUID:   node.UID,
			Benchmark: v1alpha1.BenchmarkReference{Namespace: p.Namespace, Name: p.Name, UID: p.UID},
			Run:       p.Status.Run.ID, Worker: worker, Job: v1alpha1.JobReference{Name: job.Name, UID: job.UID},
			Settings: settings,
		})
		if failure, ok := errors.AsType[*trial.Failure](err); ok && failure.Class == reason.Restoring {
			continue // the node has a record already
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// discardOldRestore deletes the Job with which release 0.1 was restoring a node, in the
// operator's own namespace. The record that follows has the node restored, and the journal
// bears that a restore is stopped at any moment.
func (r *Reconciler) discardOldRestore(ctx context.Context, node string) error {
	sum := sha256.Sum256([]byte(node))
	job := &batchv1.Job{}
	job.Namespace, job.Name = r.Leases.Namespace, "restore-"+hex.EncodeToString(sum[:6])
	err := r.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return action.Done(ctx, "discard", job, client.IgnoreNotFound(err))
}

// adoptSettings are the tunables that the run may have set: those of the spec and, if that
// is another one than the run's by now, those of the plan, as far as it can be read.
func (r *Reconciler) adoptSettings(ctx context.Context, p *pass) ([]v1alpha1.RestorableSetting, error) {
	var variants []trial.Variant
	if hash := p.Status.Run.SpecHash; hash != SpecHash(p.StorageBenchmark) && !isLegacySpecHash(hash, p.StorageBenchmark) {
		rs, err := r.storeOf(ctx, p)
		if err == nil {
			var stored results.Plan
			if stored, _, err = r.Results.Plan(ctx, rs, p.StorageBenchmark); err == nil {
				variants = stored.Variants
			}
		}
		if errors.Is(err, stores.ErrBusy) {
			return nil, err
		}
		if err != nil {
			ctrl.LoggerFrom(ctx).Info("the plan of a run of release 0.1 cannot be read; only the tunables of the spec are put back", "error", err.Error())
		}
	}
	whole, err := r.whole(ctx, p)
	if err != nil {
		return nil, err
	}
	return settingsOf(whole, variants), nil
}

// settingsOf are the tunables of a spec and of variants, wherever they are: release 0.1 did
// not record on which devices they were permitted.
func settingsOf(b *v1alpha1.StorageBenchmark, variants []trial.Variant) []v1alpha1.RestorableSetting {
	var settings []v1alpha1.RestorableSetting
	add := func(name string) {
		if !slices.ContainsFunc(settings, func(s v1alpha1.RestorableSetting) bool { return s.Name == name }) {
			settings = append(settings, v1alpha1.RestorableSetting{Name: name, Devices: []string{trial.Everything}, Datasets: []string{trial.Everything}})
		}
	}
	for _, v := range plan.Variants(b.Spec) {
		for _, t := range v.Tunables {
			add(t.Name)
		}
	}
	for _, v := range variants {
		for _, t := range v.Tunables {
			add(t.Name)
		}
	}
	return settings
}

// adoptPlan takes over the plan of a run of release 0.1, which recorded no digest of it. That
// release stored the plan when it started the first worker. If no worker has come to an end,
// a plan that is not there is made now; else nobody knows any more what was measured.
func (r *Reconciler) adoptPlan(p *pass, digest string, err error) error {
	run := p.Status.Run
	switch {
	case run.PlanDigest != "":
		return err
	case errors.Is(err, results.ErrNoPlan) && run.Ended == "":
		run.StartedAt, run.ActiveSince, run.ActiveFor = nil, nil, nil // start makes it
		return nil
	case errors.Is(err, results.ErrNoPlan):
		return results.PlanGone()
	case err == nil:
		run.PlanDigest = digest
	}
	return err
}
