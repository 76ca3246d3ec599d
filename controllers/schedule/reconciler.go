package schedule

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/controllers/trim"
	"storagebench.io/storagebench/internal/history"
	"storagebench.io/storagebench/internal/schedule"
)

// Reconciler takes StorageBenchmarkSchedules from time to time.
type Reconciler struct {
	// Client reads from the cache, in which schedules have no template.
	client.Client
	// Live reads the whole.
	Live   client.Reader
	Events events.EventRecorder
	Clock  clock.PassiveClock

	refusals refusals
	turns    stores.Turns
}

// pass is one look at a schedule.
type pass struct {
	*v1alpha1.StorageBenchmarkSchedule
	before *v1alpha1.StorageBenchmarkSchedule
	now    time.Time
	// benchmarks of the schedule, the oldest first.
	benchmarks []v1alpha1.StorageBenchmark
	times      *schedule.Schedule
	// obstacle is what somebody must remove; nil: runs are made.
	obstacle *obstacle
	// again is when to look again; zero: when something happens.
	again time.Time
	notes []note
}

// obstacle keeps runs from being made.
type obstacle struct{ reason, message string }

// note is an event, which is sent when the status is written.
type note struct{ kind, reason, message string }

func (p *pass) warn(reason, message string) {
	p.notes = append(p.notes, note{corev1.EventTypeWarning, reason, message})
}

func (p *pass) tell(reason, message string) {
	p.notes = append(p.notes, note{corev1.EventTypeNormal, reason, message})
}

// lookAgain has the schedule looked at again at a time, or sooner.
func (p *pass) lookAgain(at time.Time) {
	if p.again.IsZero() || at.Before(p.again) {
		p.again = at
	}
}

// active are the benchmarks that have not ended.
func (p *pass) active() (out []*v1alpha1.StorageBenchmark) {
	for i := range p.benchmarks {
		if b := &p.benchmarks[i]; !history.Ended(b) && b.DeletionTimestamp.IsZero() {
			out = append(out, b)
		}
	}
	return out
}

// Reconcile looks at one schedule.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ctx, turn := r.turns.Pass(ctx, req.Namespace)
	defer turn.Leave()
	if turn.Enter() != nil { // others of the namespace have their turn
		return ctrl.Result{RequeueAfter: turn.Again()}, nil
	}
	s := &v1alpha1.StorageBenchmarkSchedule{}
	if err := r.Get(ctx, req.NamespacedName, s); err != nil || !s.DeletionTimestamp.IsZero() {
		r.refusals.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	p := &pass{StorageBenchmarkSchedule: s, before: s.DeepCopy(), now: r.Clock.Now()}
	for _, step := range []func(context.Context, *pass) error{r.gather, r.record, r.timetable, r.start, r.prune} {
		if err := step(ctx, p); apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: conflictRetry}, nil
		} else if err != nil {
			return ctrl.Result{}, errors.Join(err, r.summarize(ctx, p))
		}
	}
	if err := r.summarize(ctx, p); apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	} else if err != nil || p.again.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{RequeueAfter: max(p.again.Sub(r.Clock.Now()), soon)}, nil
}

// conflictRetry is how soon a pass is made again that lost a race; soon is the least time between two.
const (
	conflictRetry = 100 * time.Millisecond
	soon          = 100 * time.Millisecond
)

// gather lists the benchmarks. The cache may not have the one that was made last.
func (r *Reconciler) gather(ctx context.Context, p *pass) error {
	list := &v1alpha1.StorageBenchmarkList{}
	if err := r.List(ctx, list, client.InNamespace(p.Namespace), client.MatchingFields{indexOwner: string(p.UID)}); err != nil {
		return err
	}
	p.benchmarks = list.Items
	for _, name := range p.Status.Active {
		if slices.ContainsFunc(p.benchmarks, func(b v1alpha1.StorageBenchmark) bool { return b.Name == name }) {
			continue
		}
		b := &v1alpha1.StorageBenchmark{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: name}, b)
		switch {
		case apierrors.IsNotFound(err):
			p.tell("RunDeleted", "benchmark "+name+" was deleted before its run was recorded")
		case err != nil:
			return err
		case metav1.IsControlledBy(b, p.StorageBenchmarkSchedule):
			p.benchmarks = append(p.benchmarks, *b)
		}
	}
	slices.SortFunc(p.benchmarks, func(a, b v1alpha1.StorageBenchmark) int {
		if c := scheduledAt(&a).Compare(scheduledAt(&b).Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return nil
}

// record adds the runs that have ended.
func (r *Reconciler) record(_ context.Context, p *pass) error {
	for i := range p.benchmarks {
		if b := &p.benchmarks[i]; history.Ended(b) && !recorded(&p.Status, b) {
			history.Record(&p.Status, b, scheduledAt(b))
			p.tell("Run"+string(p.Status.LastRun.Outcome), b.Name+": "+p.Status.LastRun.Headline)
			p.lookAgain(p.now) // to prune
		}
	}
	return nil
}

// recorded reports whether the status has a run, or had it and has dropped it since.
func recorded(s *v1alpha1.StorageBenchmarkScheduleStatus, b *v1alpha1.StorageBenchmark) bool {
	at := scheduledAt(b)
	return history.Has(s, b.Name) || len(s.Runs) >= history.MaxRuns && !at.After(s.Runs[0].ScheduledAt.Time)
}

// prune deletes benchmarks whose run the stored status has.
func (r *Reconciler) prune(ctx context.Context, p *pass) error {
	kept := map[v1alpha1.RunOutcome]int{}
	limit := map[v1alpha1.RunOutcome]int{v1alpha1.RunComplete: limitOf(p.Spec.SuccessfulHistoryLimit, 3), v1alpha1.RunFailed: limitOf(p.Spec.FailedHistoryLimit, 1)}
	for i := len(p.benchmarks) - 1; i >= 0; i-- { // the youngest first
		b := &p.benchmarks[i]
		if !history.Ended(b) || !b.DeletionTimestamp.IsZero() || !recorded(&p.before.Status, b) {
			continue
		}
		// Without a ResultStore, what the next run is compared with goes with its benchmark.
		if q := p.Status.LatestQualified; q != nil && q.Benchmark == b.Name && b.Spec.Baseline != nil && b.Status.Run.StatusOnly {
			continue
		}
		outcome := history.Outcome(b)
		kept[outcome]++
		remove := kept[outcome] > limit[outcome]
		if ttl := p.Spec.Template.Spec.TTLAfterFinished; ttl != nil {
			over := b.Status.Run.FinishedAt.Add(ttl.Duration)
			if over.After(p.now) {
				p.lookAgain(over)
			} else {
				remove = true
			}
		}
		if !remove {
			continue
		}
		if err := r.remove(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a benchmark, and with it what its run left in the cluster.
func (r *Reconciler) remove(ctx context.Context, b *v1alpha1.StorageBenchmark) error {
	err := r.Delete(ctx, b, client.Preconditions{UID: &b.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return action.Done(ctx, "delete", b, client.IgnoreNotFound(err))
}

func limitOf(limit *int32, byDefault int) int {
	if limit == nil {
		return byDefault
	}
	return int(*limit)
}

// scheduledAt is the time that a benchmark was made for; its creation, if somebody has removed that.
func scheduledAt(b *v1alpha1.StorageBenchmark) metav1.Time {
	if at, err := time.Parse(time.RFC3339, b.Annotations[v1alpha1.AnnotationScheduledAt]); err == nil {
		return metav1.NewTime(at)
	}
	return b.CreationTimestamp
}

// indexOwner finds benchmarks by the UID of the schedule that controls them.
const indexOwner = "schedule"

// Index adds the index that this package reads by.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1alpha1.StorageBenchmark{}, indexOwner, func(o client.Object) []string {
		if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "StorageBenchmarkSchedule" {
			return []string{string(owner.UID)}
		}
		return nil
	})
}

// Strip drops from a schedule what is read only when a run starts. It is a transform of the cache.
func Strip(object any) (any, error) {
	s, ok := object.(*v1alpha1.StorageBenchmarkSchedule)
	if !ok {
		return object, nil
	}
	trim.Meta(s)
	s.Spec.Template = v1alpha1.BenchmarkTemplate{Spec: v1alpha1.StorageBenchmarkSpec{TTLAfterFinished: s.Spec.Template.Spec.TTLAfterFinished}}
	return s, nil
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.StorageBenchmarkSchedule{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&v1alpha1.StorageBenchmark{}, builder.WithPredicates(endedOrStuck)).
		WithOptions(controller.Options{MaxConcurrentReconciles: stores.Passes, RateLimiter: action.Retries()}).
		Complete(r)
}

// endedOrStuck drops the updates of a benchmark that change nothing for its schedule.
var endedOrStuck = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok1 := e.ObjectOld.(*v1alpha1.StorageBenchmark)
		is, ok2 := e.ObjectNew.(*v1alpha1.StorageBenchmark)
		return !ok1 || !ok2 || history.Ended(was) != history.Ended(is) || stalled(was) != stalled(is) ||
			was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero()
	},
}

func stalled(b *v1alpha1.StorageBenchmark) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled)
}
