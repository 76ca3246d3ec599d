package benchmark

import (
	"context"
	"errors"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/results"
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
		// The hash is of the spec of this generation, with that release's defaults.
		run.Generation = p.Status.ObservedGeneration
	}
	if len(run.Workers) > 0 {
		adoptWorkers(run)
	}
	if run.StartedAt != nil && run.FinishedAt == nil && run.ActiveSince == nil && run.ActiveFor == nil {
		run.ActiveSince = run.StartedAt
	}
	return false, nil
}

// adoptWorkers turns a list of workers into what replaces it.
func adoptWorkers(run *v1alpha1.RunStatus) {
	old := run.Workers
	run.Workers = nil
	run.WorkersTotal = int32(len(old))
	ended := progress.Set{}
	run.WorkersDone, run.WorkersFailed, run.Failures = 0, 0, nil
	for i, w := range old {
		switch w.Phase {
		case v1alpha1.WorkerDone:
			run.WorkersDone++
			ended = ended.With(i)
		case v1alpha1.WorkerFailed:
			run.WorkersFailed++
			ended = ended.With(i)
			status.Fail(run, status.End{Worker: w.Name, Node: w.Node, Reason: w.Reason, Message: w.Message})
		}
	}
	run.Ended = ended.String()
}

// adoptNodes writes the records of nodes whose settings may be changed. The worker that
// changed them may run still.
func (r *Reconciler) adoptNodes(ctx context.Context, p *pass) error {
	all, err := r.Workers.Of(ctx, p.StorageBenchmark, "")
	if err != nil {
		return err
	}
	for _, name := range p.Status.Run.Unrestored {
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
			Settings: settingsOf(p.StorageBenchmark),
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

// settingsOf are the tunables of a spec, wherever they are: release 0.1 did not record on
// which devices they were permitted.
func settingsOf(b *v1alpha1.StorageBenchmark) []v1alpha1.RestorableSetting {
	var settings []v1alpha1.RestorableSetting
	for _, v := range b.Spec.Variants {
		for _, t := range v.Tunables {
			if !slices.ContainsFunc(settings, func(s v1alpha1.RestorableSetting) bool { return s.Name == t.Name }) {
				settings = append(settings, v1alpha1.RestorableSetting{Name: t.Name, Devices: []string{trial.Everything}, Datasets: []string{trial.Everything}})
			}
		}
	}
	return settings
}

// adoptPlan takes over the plan of a run of release 0.1, which recorded no digest of it. A
// run none of whose workers has begun has no plan: then it is made now.
func (r *Reconciler) adoptPlan(p *pass, digest string, err error) error {
	if errors.Is(err, results.ErrNoPlan) && p.Status.Run.PlanDigest == "" && p.Status.Run.StartedAt == nil {
		return nil
	}
	if err == nil && p.Status.Run.PlanDigest == "" {
		p.Status.Run.PlanDigest = digest
	}
	return err
}
