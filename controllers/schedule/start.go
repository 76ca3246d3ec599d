package schedule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/internal/schedule"
	"storagebench.io/storagebench/internal/timetable"
)

const (
	// maxActive is how many runs go on at once with concurrencyPolicy Allow.
	maxActive = 32
	// A run that the API server refused is tried again after 1 min, 2 min, 4 min, 5 min …
	firstRetry = time.Minute
	lastRetry  = 5 * time.Minute
)

// timetable reads the spec.
func (r *Reconciler) timetable(_ context.Context, p *pass) error {
	times, err := timetable.Of(p.Spec, string(p.UID), p.now)
	if err != nil {
		p.obstacle = &obstacle{reason.InvalidSchedule, err.Error()}
		return nil //nolint:nilerr // it is the spec's fault, and said there
	}
	p.times = times
	return nil
}

// start makes the run that is due, and says when the next one is.
func (r *Reconciler) start(ctx context.Context, p *pass) error {
	p.Status.NextScheduleTime = nil
	if p.times == nil || p.Spec.Suspend {
		return nil
	}
	p.correctTimes()
	if due, ok := p.times.Due(p.since(), p.now); ok {
		if err := r.due(ctx, p, due); err != nil {
			return err
		}
	}
	if next, ok := p.times.Next(p.times.Of(p.now)); ok {
		at := p.times.Start(next)
		p.Status.NextScheduleTime = stamp(at)
		p.lookAgain(at)
	}
	return nil
}

// correctTimes moves times of the future back to now: the clock was ahead when they were written, and
// nothing would start until it is there again.
func (p *pass) correctTimes() {
	for _, at := range []**metav1.Time{&p.Status.LastScheduleTime, &p.Status.LastMissedTime, &p.Status.LastSkippedTime} {
		if *at != nil && (*at).After(p.now) {
			p.warn("ClockWentBack", fmt.Sprintf("a time of the status is %s, in the future; the schedule goes on from now", (*at).UTC().Format(time.RFC3339)))
			*at = stamp(p.now)
		}
	}
	// What is recorded with a time to come would make every run until then look recorded.
	for i := range p.Status.Runs {
		if at := &p.Status.Runs[i].ScheduledAt; at.After(p.now) {
			*at = *stamp(p.now)
		}
	}
}

// since is the time after which times of the schedule have no run yet.
func (p *pass) since() time.Time {
	since := p.CreationTimestamp.Time
	if since.After(p.now) {
		since = p.now
	}
	for _, at := range []*metav1.Time{p.Status.LastScheduleTime, p.Status.LastMissedTime} {
		if at != nil && at.After(since) {
			since = at.Time
		}
	}
	return since
}

// due makes the run of a time, unless it comes too late, or another run goes on.
func (r *Reconciler) due(ctx context.Context, p *pass, due schedule.Due) error {
	if deadline := p.Spec.StartingDeadlineSeconds; deadline != nil && p.now.Sub(p.times.Start(due.Time)) > time.Duration(*deadline)*time.Second {
		p.tooMany(due)
		p.warn("MissSchedule", fmt.Sprintf("missed %s: it is later than spec.startingDeadlineSeconds (%d) allows", due.Time.UTC().Format(time.RFC3339), *deadline))
		p.Status.LastMissedTime = stamp(due.Time)
		if !meta.IsStatusConditionTrue(p.before.Status.Conditions, v1alpha1.ConditionSuspended) { // nobody missed what was suspended
			p.Status.Missed += int64(due.Count)
		}
		return nil
	}
	if p.times.Quiet(p.now) {
		p.lookAgain(p.times.QuietUntil(p.now))
		return nil
	}
	// An earlier pass has made it, and did not get to write that down.
	if name := nameOf(p.Name, due.Time); slices.ContainsFunc(p.benchmarks, func(b v1alpha1.StorageBenchmark) bool { return b.Name == name }) {
		p.Status.LastScheduleTime = stamp(due.Time)
		return nil
	}
	if r.refusals.wait(p) {
		return nil
	}
	active := p.active()
	policy := p.Spec.ConcurrencyPolicy
	if policy == v1alpha1.AllowConcurrent && len(active) >= maxActive {
		policy = v1alpha1.ForbidConcurrent
	}
	if policy == v1alpha1.ReplaceConcurrent {
		for _, b := range active {
			if err := r.remove(ctx, b); err != nil {
				return err
			}
			p.tell("RunReplaced", "deleted "+b.Name+", which had not ended, for the next run")
		}
	} else if policy != v1alpha1.AllowConcurrent && len(active) > 0 {
		p.skip(due.Time, active[0])
		return nil
	}
	return r.create(ctx, p, due)
}

func (p *pass) tooMany(due schedule.Due) {
	if due.Count > schedule.ManyMissed {
		p.warn("TooManyMissedTimes", fmt.Sprintf("more than %d times were missed; check the clock, or set spec.startingDeadlineSeconds", schedule.ManyMissed))
	}
}

// skip leaves a time waiting for a run that goes on.
func (p *pass) skip(at time.Time, b *v1alpha1.StorageBenchmark) {
	if last := p.Status.LastSkippedTime; last == nil || !last.Equal(stamp(at)) {
		p.tell("RunActive", fmt.Sprintf("the run of %s waits until %s has ended", at.UTC().Format(time.RFC3339), b.Name))
		p.Status.LastSkippedTime = stamp(at)
	}
	if stalled(b) {
		message := ""
		if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled); c != nil {
			message = c.Message
		}
		p.obstacle = &obstacle{reason.RunStalled, fmt.Sprintf("the next run waits for %s, which makes no progress: %s", b.Name, message)}
	}
}

// create makes the benchmark of a time.
func (r *Reconciler) create(ctx context.Context, p *pass, due schedule.Due) error {
	whole := &v1alpha1.StorageBenchmarkSchedule{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(p.StorageBenchmarkSchedule), whole); err != nil {
		return client.IgnoreNotFound(err)
	}
	if whole.UID != p.UID || whole.Generation != p.Generation {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("storagebenchmarkschedules").GroupResource(), p.Name, errors.New("it was changed in the meantime"))
	}
	b := benchmarkOf(whole, p.Status.LatestQualified, due.Time)
	err := action.Done(ctx, "create", b, r.Create(ctx, b))
	switch {
	case apierrors.IsAlreadyExists(err):
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if !metav1.IsControlledBy(b, p.StorageBenchmarkSchedule) {
			r.reject(p, fmt.Sprintf("there is a StorageBenchmark %s already, which this schedule has not made: delete or rename it", b.Name))
			return nil
		}
		// An earlier pass has made it, and did not get to write that down.
		if !slices.ContainsFunc(p.benchmarks, func(known v1alpha1.StorageBenchmark) bool { return known.UID == b.UID }) {
			p.benchmarks = append(p.benchmarks, *b)
		}
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err),
		apierrors.IsInternalError(err), apierrors.IsRequestEntityTooLargeError(err): // a webhook that does not answer
		r.reject(p, fmt.Sprintf("spec.template: the API server refused the benchmark: %v", err))
		return nil
	case err != nil:
		return err
	default:
		p.tooMany(due)
		p.tell("RunStarted", "made benchmark "+b.Name)
		p.benchmarks = append(p.benchmarks, *b)
	}
	r.refusals.forget(client.ObjectKeyFromObject(p.StorageBenchmarkSchedule))
	p.Status.LastScheduleTime = stamp(due.Time)
	return nil
}

func (r *Reconciler) reject(p *pass, message string) {
	p.obstacle = &obstacle{reason.RunRejected, message}
	p.lookAgain(r.refusals.add(p))
}

// nameOf is the name of the benchmark of a time.
func nameOf(schedule string, at time.Time) string {
	return fmt.Sprintf("%s-%d", schedule, at.Unix()/60)
}

// benchmarkOf is the benchmark of a time. Its schedule deletes it when its time to live is over, after
// the run is recorded.
func benchmarkOf(s *v1alpha1.StorageBenchmarkSchedule, qualified *v1alpha1.RunReference, at time.Time) *v1alpha1.StorageBenchmark {
	template := s.Spec.Template.DeepCopy()
	b := &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: nameOf(s.Name, at),
			Labels: map[string]string{v1alpha1.LabelSchedule: s.Name}, Annotations: map[string]string{v1alpha1.AnnotationScheduledAt: at.UTC().Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("StorageBenchmarkSchedule"))},
		},
		Spec: template.Spec,
	}
	maps.Copy(b.Labels, template.Metadata.Labels)
	maps.Copy(b.Annotations, template.Metadata.Annotations)
	b.Spec.TTLAfterFinished = nil
	b.Spec.Baseline.Follow(qualified)
	return b
}

// stamp is a time as the API server keeps it, in whole seconds.
func stamp(at time.Time) *metav1.Time {
	t := metav1.NewTime(at.UTC().Truncate(time.Second))
	return &t
}
