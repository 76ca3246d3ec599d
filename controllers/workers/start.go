package workers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

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
	"storagebench.io/storagebench/controllers/admission"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// grantSpare is how much longer than a worker's timeout its signed URLs are valid.
const grantSpare = time.Hour

// Order is what a worker is started with.
type Order struct {
	Benchmark *v1alpha1.StorageBenchmark
	Plan      *trial.Plan
	Document  []byte // the plan's
	Worker    trial.Worker
	Target    trial.Target
	Bucket    stores.Bucket
	CABundle  []byte
	// SealingKey is what the worker seals its documents with (result.SealingKey); empty: it does not.
	SealingKey []byte
	// Left is what is left of the run's timeout.
	Left time.Duration
	// Share of the run's budget that is the worker's; nil: the plan has no budget.
	Share *time.Duration
	// Last reports that every other worker has ended: what this one does not use, nobody does.
	Last bool
	// NodeUID is the UID of the worker's node.
	NodeUID types.UID
}

// Outgrown reports whether the worker of a Job that was made with this share can have more by now, and
// the difference would be lost. While others have not ended, they get it, and the Job keeps its volume.
func (o Order) Outgrown(share *time.Duration) bool {
	return o.Last && o.Share != nil && (share == nil || *share < *o.Share)
}

// Start makes a worker's Job, suspended, then what it owns, then lets it go. If a step
// fails, what was made is discarded and the worker is put aside for a while.
func (w *Workers) Start(ctx context.Context, o Order) error {
	job, err := w.make(ctx, o)
	if err == nil {
		err = w.letGo(ctx, o, job)
	}
	if err == nil {
		w.retries.forget(o.Benchmark.UID, o.Worker.Name)
		return nil
	}
	if job != nil && job.UID != "" {
		_ = w.delete(ctx, "discard", job) // if it stays, it is found as interrupted
	}
	return w.putAside(o.Benchmark, o.Worker.Name, err)
}

// refusalPatience is how long a refusal counts as one that may pass by itself: while a release
// is upgraded, the operator and the admission policies that name its image change one after
// the other.
const refusalPatience = 45 * time.Second

// putAside remembers why a worker did not start.
func (w *Workers) putAside(b *v1alpha1.StorageBenchmark, worker string, err error) error {
	if apierrors.IsConflict(err) {
		return err
	}
	first := w.retries.get(b.UID, worker).since
	if apierrors.IsForbidden(err) && (first.IsZero() || w.Clock.Now().Sub(first) < refusalPatience) {
		err = mayPass(err)
	}
	out := status.Failure(err)
	w.retries.failed(b.UID, worker, w.Clock.Now(), &progress.Trouble{Reason: out.Reason, Message: out.Message, MayPass: !out.Stalled})
	return err
}

// mayPass marks a failure as one that may pass without anybody's help.
func mayPass(err error) error {
	failure, ok := errors.AsType[*trial.Failure](err)
	if !ok {
		return err
	}
	marked := *failure
	marked.Err = errors.Join(failure.Err, status.ErrMayPass)
	return &marked
}

// make makes the Job, and what it owns.
func (w *Workers) make(ctx context.Context, o Order) (*batchv1.Job, error) {
	if o.Plan.SetsTunables() {
		if err := w.Records.Admitted(ctx, o.Worker.Node, admission.Settings(o.Plan)); err != nil {
			return nil, err
		}
	}
	grant, digest, err := sign(ctx, o, w.Clock.Now())
	if err != nil {
		return nil, err
	}
	job, err := jobspec.Job(jobspec.Input{
		Settings: w.Settings, Plan: o.Plan, Worker: o.Worker, Target: o.Target,
		Owner:       *metav1.NewControllerRef(o.Benchmark, v1alpha1.GroupVersion.WithKind("StorageBenchmark")),
		Tolerations: o.Benchmark.Spec.Placement.Tolerations,
		Timeout:     max(o.Left, time.Second),
		GrantDigest: digest,
		Share:       o.Share,
	})
	if err != nil {
		return nil, err
	}
	if err := action.Done(ctx, "start", job, w.Create(ctx, job)); err != nil {
		return nil, w.inTheWay(ctx, o.Benchmark, job, err)
	}
	w.wrote(o.Benchmark.UID, job)
	secret, err := jobspec.GrantSecret(job, grant)
	if err != nil {
		return job, &trial.Failure{Class: reason.InvalidSpec, Field: "spec.trials.min", Message: err.Error(), Remedy: "lower trials.min or split the benchmark", Err: err}
	}
	owned := []client.Object{jobspec.PlanConfigMap(job, o.Document), secret}
	if claim := claimOf(o, job); claim != nil {
		owned = append(owned, claim)
	}
	for _, object := range owned {
		if err := action.Done(ctx, "create", object, w.Create(ctx, object)); err != nil {
			return job, refused(object, err)
		}
	}
	return job, nil
}

func claimOf(o Order, job *batchv1.Job) *corev1.PersistentVolumeClaim {
	for _, target := range plan.WithDefaults(o.Benchmark.Spec).Targets {
		if class := target.StorageClass; target.Name == o.Target.Name && class != nil {
			return jobspec.Claim(job, class.Name, *class.Size, class.AccessMode, class.VolumeMode)
		}
	}
	return nil
}

// letGo writes the node's record, if the worker changes settings, and then starts the Job.
func (w *Workers) letGo(ctx context.Context, o Order, job *batchv1.Job) error {
	if err := w.Record(ctx, o, job); err != nil {
		return err
	}
	before := job.DeepCopy()
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	job.Annotations[jobspec.AnnotationComplete] = "true"
	job.Spec.Suspend = new(false)
	err := action.Done(ctx, "let-go", job, w.Patch(ctx, job, client.MergeFrom(before)))
	if err == nil {
		w.wrote(o.Benchmark.UID, job)
	}
	return err
}

// Record writes the record of the worker's node, if the worker changes settings.
func (w *Workers) Record(ctx context.Context, o Order, job *batchv1.Job) error {
	if !o.Plan.SetsTunables() {
		return nil
	}
	return w.Records.Open(ctx, o.Worker.Node, v1alpha1.NodeRestoreSpec{
		NodeUID:   o.NodeUID,
		Benchmark: v1alpha1.BenchmarkReference{Namespace: o.Benchmark.Namespace, Name: o.Benchmark.Name, UID: o.Benchmark.UID},
		Run:       o.Plan.Run, Worker: o.Worker.Name,
		Job:      v1alpha1.JobReference{Name: job.Name, UID: job.UID},
		Settings: admission.Settings(o.Plan),
	})
}

// Resume lets a parked Job go again. One that was made so long ago that its grant may expire
// before its worker has stored everything is discarded instead, and made again. So is that of the
// last worker if others left more of the budget since it was made: nobody else could use it.
func (w *Workers) Resume(ctx context.Context, o Order, job *batchv1.Job) error {
	if w.Clock.Now().Sub(job.CreationTimestamp.Time) > grantSpare/2 {
		return w.delete(ctx, "discard", job)
	}
	share, err := w.Share(ctx, job, o.Share)
	if err != nil {
		return err
	}
	if o.Outgrown(share) {
		return w.delete(ctx, "discard", job)
	}
	if o.Plan.SetsTunables() {
		if err := w.Records.Admitted(ctx, o.Worker.Node, admission.Settings(o.Plan)); err != nil {
			return w.putAside(o.Benchmark, o.Worker.Name, err)
		}
	}
	if err := w.letGo(ctx, o, job); err != nil {
		return w.putAside(o.Benchmark, o.Worker.Name, err)
	}
	return nil
}

// Share returns the share of the run's budget that a worker's Job was made with. Of a Job that is
// gone it is due, what a worker that begins now gets.
func (w *Workers) Share(ctx context.Context, job *batchv1.Job, due *time.Duration) (*time.Duration, error) {
	if job == nil || due == nil {
		return due, nil
	}
	whole := &batchv1.Job{}
	err := w.Live.Get(ctx, client.ObjectKeyFromObject(job), whole)
	if apierrors.IsNotFound(err) || err == nil && whole.UID != job.UID {
		return due, nil
	}
	if err != nil {
		return nil, err
	}
	return jobspec.Share(whole), nil
}

// Park suspends a worker's Job, whose Pod cannot start, so that its node can be given back.
// Its volume stays.
func (w *Workers) Park(ctx context.Context, b *v1alpha1.StorageBenchmark, worker string, job *batchv1.Job, why progress.Trouble) error {
	before := job.DeepCopy()
	job.Spec.Suspend = new(true)
	if err := action.Done(ctx, "park", job, w.Patch(ctx, job, client.MergeFrom(before))); err != nil {
		return client.IgnoreNotFound(err)
	}
	w.wrote(b.UID, job)
	w.retries.failed(b.UID, worker, w.Clock.Now(), &why)
	return nil
}

// Runs forgets what kept a worker from running: its Pod runs.
func (w *Workers) Runs(b *v1alpha1.StorageBenchmark, worker string) { w.retries.forget(b.UID, worker) }

// Discard deletes a worker's Job, which will be made again.
func (w *Workers) Discard(ctx context.Context, job *batchv1.Job) error {
	return w.delete(ctx, "discard", job)
}

// Remove deletes the Job of a worker that has ended, and with it all that the Job owns.
func (w *Workers) Remove(ctx context.Context, b *v1alpha1.StorageBenchmark, worker string, job *batchv1.Job) error {
	w.retries.forget(b.UID, worker)
	return w.delete(ctx, "remove", job)
}

// Forget drops what is remembered of a benchmark that has ended or is gone.
func (w *Workers) Forget(benchmark types.UID) {
	w.retries.forget(benchmark, "")
	w.left.forget(benchmark)
	w.stuck.forget(benchmark)
	w.jobs.Forget(benchmark)
}

// delete deletes a Job in the background: in the foreground, a Pod on a node that does not
// answer would keep it for ever. It turns a foreground deletion, by somebody else or by release
// 0.1, into one in the background. A deletion that the API server refuses is asked for again of a Job that
// is lighter. If that is refused, too, it is remembered, and is no error: it must keep neither the node nor the benchmark.
func (w *Workers) delete(ctx context.Context, verb string, job *batchv1.Job) error {
	if job == nil || !job.DeletionTimestamp.IsZero() && !slices.Contains(job.Finalizers, metav1.FinalizerDeleteDependents) {
		return nil
	}
	erase := func() error {
		return w.Client.Delete(ctx, job, client.Preconditions{UID: &job.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	err := erase()
	owner := metav1.GetControllerOf(job)
	if owner != nil && isRefusal(err) && w.lighten(ctx, job) {
		err = erase()
	}
	if owner != nil && client.IgnoreNotFound(err) == nil {
		// Whatever the cache still shows of it: to delete it once more does no harm.
		w.jobs.Shown(owner.UID, client.ObjectKeyFromObject(job))
	}
	if owner != nil && isRefusal(err) {
		w.stuck.refused(owner.UID, job.UID, w.Clock.Now())
		ctrl.LoggerFrom(ctx).Info("the API server refuses to delete a Job", "job", job.Name, "error", err.Error())
		return nil
	}
	return action.Done(ctx, verb, job, client.IgnoreNotFound(err))
}

// isRefusal reports whether an object cannot be written, whoever asks. A right that is missing is none: it is said.
// "etcdserver: request is too large" has a code and no reason.
func isRefusal(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.Status().Code {
	case http.StatusRequestEntityTooLarge, http.StatusInternalServerError:
		return true
	}
	return false
}

// inTheWay explains why a Job could not be created.
func (w *Workers) inTheWay(ctx context.Context, b *v1alpha1.StorageBenchmark, job *batchv1.Job, err error) error {
	if !apierrors.IsAlreadyExists(err) {
		return refused(job, err)
	}
	earlier := &trial.Failure{Class: reason.Starting, Message: "waiting until Job " + job.Name + " of an earlier attempt is removed", Err: errors.Join(err, status.ErrMayPass)}
	existing := &batchv1.Job{}
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(job), existing); apierrors.IsNotFound(err) {
		return earlier
	} else if err != nil {
		return err
	}
	if !metav1.IsControlledBy(existing, b) {
		return refused(job, err)
	}
	if existing.Labels[jobspec.LabelManagedBy] != jobspec.ManagedBy {
		return &trial.Failure{
			Class:   reason.PodRejected,
			Message: fmt.Sprintf("somebody removed the label %s=%s from Job %s in namespace %s, so the operator may not delete it", jobspec.LabelManagedBy, jobspec.ManagedBy, existing.Name, existing.Namespace),
			Remedy:  "delete the Job", Err: err,
		}
	}
	// The cache does not know it yet, or does not know any more whose it is.
	if jobState(existing) == progress.JobPreparing || !sameLabels(existing, job) {
		_ = w.delete(ctx, "discard", existing)
		return earlier
	}
	if existing.DeletionTimestamp.IsZero() {
		// An operator before this one has let it go. It is no obstacle: the cache will show it.
		return apierrors.NewConflict(batchv1.Resource("jobs"), existing.Name, err)
	}
	return earlier
}

// sameLabels reports whether a Job has the labels by which the operator finds its own.
func sameLabels(existing, made *batchv1.Job) bool {
	for name, value := range made.Labels {
		if existing.Labels[name] != value {
			return false
		}
	}
	return true
}

// refused turns the API server's refusal of an object, by quota, admission policy or
// validation, into a failure that the user reads.
func refused(object client.Object, err error) error {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = fmt.Sprintf("%T", object)
		kind = kind[len("*v1."):]
	}
	switch {
	case apierrors.IsAlreadyExists(err):
		return &trial.Failure{
			Class:   reason.PodRejected,
			Message: fmt.Sprintf("there already is a %s %s in namespace %s that this run did not create", kind, object.GetName(), object.GetNamespace()),
			Remedy:  "delete it; if it belongs to an earlier attempt, it disappears by itself", Err: err,
		}
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		return &trial.Failure{Class: reason.PodRejected, Message: err.Error(), Remedy: "change the namespace's quota or policies to allow it", Err: err}
	}
	return err
}

// sign makes the grant of a worker: its own objects, and no others.
func sign(ctx context.Context, o Order, now time.Time) (document []byte, digest string, err error) {
	grant, err := store.NewGrant(ctx, o.Bucket, o.Plan, o.Worker.Name, o.Left+grantSpare, now)
	if err != nil {
		return nil, "", err
	}
	grant.CABundle, grant.SealingKey = o.CABundle, o.SealingKey
	return grant.Encode()
}
