package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// countStored updates a running worker's progress from the store, which is where
// its trials go. It is for people to look at: errors are logged and left.
func (r *StorageBenchmarkReconciler) countStored(ctx context.Context, b *v1alpha1.StorageBenchmark, o *observed, w *v1alpha1.WorkerStatus) {
	if o.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	bucket, err := r.Buckets.Open(ctx, o.store)
	if err == nil {
		var keys []string
		if keys, err = bucket.List(ctx, runKeys(b).Trials(w.Name)); err == nil {
			w.TrialsStored = int32(len(keys))
			status.Progress(b.Status.Run)
		}
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("cannot count the stored trials", "worker", w.Name, "error", err.Error())
	}
}

func runKeys(b *v1alpha1.StorageBenchmark) trial.Keys {
	return trial.Keys{Namespace: b.Namespace, Name: b.Name, Run: b.Status.Run.ID}
}

// settle records how a worker ended. Its receipt says so; where a Pod left none,
// what stands in the store does.
func (r *StorageBenchmarkReconciler) settle(ctx context.Context, b *v1alpha1.StorageBenchmark, o *observed, action progress.Action) error {
	w := workerStatus(b, action.Worker)
	receipt := lastReceipt(o.pods[w.Name])
	if saysRestored(newest(o.pods[w.Name])) {
		restored(b, w.Node)
	}
	w.Attempts = int32(len(o.pods[w.Name]))
	if receipt == nil {
		summary, err := r.readSummary(ctx, b, o, w.Name)
		if err != nil {
			return err
		}
		receipt = &trial.Receipt{Failure: &trial.Failure{
			Class:   v1alpha1.ReasonWorkerLost,
			Message: fmt.Sprintf("the worker's Pods on node %s ended without a receipt", w.Node),
			Remedy:  "see whether the node, or its memory, was lost; change spec.runID to run again",
		}}
		if summary != nil {
			receipt.Planned, receipt.Stored = summary.Planned, len(summary.Trials)
			if receipt.Stored == receipt.Planned {
				receipt.Failure = summary.Failure
			}
		}
	}
	w.Phase, w.Reason, w.Message = v1alpha1.WorkerDone, "", ""
	w.TrialsStored = int32(receipt.Stored)
	if receipt.Failure != nil {
		w.Phase = v1alpha1.WorkerFailed
		w.Reason, w.Message = string(receipt.Failure.Class), receipt.Failure.Error()
		if action.Reason != "" && receipt.Failure.Class == v1alpha1.ReasonWorkerLost {
			w.Reason, w.Message = action.Reason, timeoutMessage(b)
		}
	}
	w.Message = status.Shorten(w.Message, 1024)
	status.Progress(b.Status.Run)
	return nil
}

// abandon records that a worker never began.
func abandon(b *v1alpha1.StorageBenchmark, action progress.Action) {
	w := workerStatus(b, action.Worker)
	w.Phase, w.Reason, w.Message = v1alpha1.WorkerFailed, action.Reason, timeoutMessage(b)
}

func timeoutMessage(b *v1alpha1.StorageBenchmark) string {
	return fmt.Sprintf("spec.timeout: the run took longer than %s; raise it, or ask for fewer trials or nodes", b.Spec.Timeout.Duration)
}

// saysRestored says that a Pod's own receipt, and not that of one before it, tells of
// settings that were put back.
func saysRestored(pod *corev1.Pod) bool {
	if pod == nil {
		return false
	}
	receipt := lastReceipt([]corev1.Pod{*pod})
	return receipt != nil && receipt.Restored
}

// lastReceipt returns the newest receipt of a worker's Pods, which are known by
// their owner. It is what a Pod wrote, so only its counts and its failure are used,
// and never a key.
func lastReceipt(pods []corev1.Pod) *trial.Receipt {
	var last *trial.Receipt
	var ended metav1.Time
	for i := range pods {
		for _, c := range pods[i].Status.ContainerStatuses {
			t := c.State.Terminated
			if t == nil || t.FinishedAt.Before(&ended) {
				continue
			}
			if receipt, err := trial.DecodeReceipt(t.Message); err == nil {
				last, ended = receipt, t.FinishedAt
			}
		}
	}
	return last
}

// workerSummary reads what a worker stored: its summary, and the documents of the
// trials that the summary does not know, as its Pod was killed before it could
// write it again. Nil means that it stored nothing.
func workerSummary(ctx context.Context, bucket Bucket, p *trial.Plan, self trial.Worker) (*result.WorkerSummary, error) {
	summary := result.NewWorkerSummary(p, self)
	found := false
	document, err := bucket.Get(ctx, p.Keys().WorkerSummary(self.Name))
	switch {
	case err == nil:
		found = true
		if err := result.Decode(document, result.WorkerSchema, summary); err != nil {
			// The trials are worth having without it.
			summary = result.NewWorkerSummary(p, self)
		}
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	keys, err := bucket.List(ctx, p.Keys().Trials(self.Name))
	if err != nil {
		return nil, err
	}
	for _, t := range p.Trials {
		key := p.Keys().Trial(self.Name, t.ID)
		if summary.Has(t.ID) || !slices.Contains(keys, key) {
			continue
		}
		document, err := bucket.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		d := &result.Trial{}
		if err := result.Decode(document, result.TrialSchema, d); err != nil || !d.BelongsTo(p, self, t) {
			continue // whoever wrote it, it is no trial of this run
		}
		found = true
		summary.Fold(d, result.Object{Key: key, Bytes: len(document), Digest: trial.Digest(document)})
	}
	if !found {
		return nil, nil
	}
	summary.Sort(p.Trials)
	return summary, nil
}

func (r *StorageBenchmarkReconciler) openBucket(ctx context.Context, o *observed) (Bucket, error) {
	if o.store == nil {
		return nil, &trial.Failure{Class: v1alpha1.ReasonResultStoreNotFound, Field: "spec.results.storeRef.name", Message: "the ResultStore is gone", Remedy: "create it again"}
	}
	bucket, err := r.Buckets.Open(ctx, o.store)
	if err != nil {
		return nil, unstored(o, err)
	}
	return bucket, nil
}

// unstored turns a store's error into a failure that the benchmark waits out.
func unstored(o *observed, err error) error {
	reason, message := storeTrouble(o.store, err)
	failure := &trial.Failure{Class: v1alpha1.ReasonStoreUnavailable, Field: "spec.results.storeRef.name", Message: fmt.Sprintf("ResultStore %s: %s: %s", o.store.Name, reason, message), Err: err}
	if store.Temporary(err) {
		failure.Err = errors.Join(err, errWait)
	}
	return failure
}

// readSummary reads the summary of one worker.
func (r *StorageBenchmarkReconciler) readSummary(ctx context.Context, b *v1alpha1.StorageBenchmark, o *observed, name string) (*result.WorkerSummary, error) {
	bucket, err := r.openBucket(ctx, o)
	if err != nil {
		return nil, err
	}
	p, err := storedPlan(ctx, bucket, b)
	if err != nil {
		return nil, unstored(o, err)
	}
	self, _, err := p.Worker(name)
	if err != nil {
		return nil, err
	}
	summary, err := workerSummary(ctx, bucket, p, self)
	if err != nil {
		return nil, unstored(o, err)
	}
	return summary, nil
}

// storedPlan reads the plan that the run's workers were given. It is not made again
// from the spec, as what it was made from (a StorageClass, a claim) can be gone by
// now, and the results are to be had all the same. Workers cannot write it. A run
// that ended before any worker began has none: then it is the workers alone.
func storedPlan(ctx context.Context, bucket Bucket, b *v1alpha1.StorageBenchmark) (*trial.Plan, error) {
	document, err := bucket.Get(ctx, runKeys(b).Plan())
	if err == nil {
		return trial.DecodePlan(document, "")
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	p := &trial.Plan{
		Schema:    trial.PlanSchema,
		Benchmark: trial.Benchmark{Namespace: b.Namespace, Name: b.Name, UID: string(b.UID)},
		Run:       b.Status.Run.ID,
	}
	for _, w := range b.Status.Run.Workers {
		p.Workers = append(p.Workers, trial.Worker{Name: w.Name, Target: w.Target, Node: w.Node})
	}
	return p, nil
}

// conclude folds the workers' summaries into the run's, stores it, and records
// the end of the run.
func (r *StorageBenchmarkReconciler) conclude(ctx context.Context, b *v1alpha1.StorageBenchmark, o *observed) error {
	bucket, err := r.openBucket(ctx, o)
	if err != nil {
		return err
	}
	p, err := storedPlan(ctx, bucket, b)
	if err != nil {
		return unstored(o, err)
	}
	var workers []result.WorkerSummary
	run := b.Status.Run
	for i := range run.Workers {
		summary, err := workerSummary(ctx, bucket, p, p.Workers[i])
		if err != nil {
			return unstored(o, err)
		}
		if summary == nil {
			continue
		}
		run.Workers[i].TrialsStored = int32(len(summary.Trials))
		run.Workers[i].Attempts = int32(len(summary.Attempts))
		workers = append(workers, *summary)
	}
	now := r.Clock.Now()
	summary := stats.Summarize(p, workers, now)
	summary.Planned = int(run.TrialsPlanned)
	document, err := json.MarshalIndent(summary, "", " ")
	if err != nil {
		return err
	}
	if err := bucket.Put(ctx, p.Keys().Summary(), document); err != nil {
		return unstored(o, err)
	}
	finished := metav1.NewTime(now)
	run.FinishedAt = &finished
	status.Progress(run)
	status.Summary(&b.Status, summary)
	status.Conclude(r.writer(b), run)
	return nil
}
