package schedule

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/history"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/status"
)

// maxMessage of a condition, in bytes.
const maxMessage = 1024

// summarize writes conditions and status, if they have changed, and then sends events.
func (r *Reconciler) summarize(ctx context.Context, p *pass) error {
	p.Status.Active = nil
	active := p.active()
	for _, b := range active[:min(len(active), maxActive)] {
		p.Status.Active = append(p.Status.Active, b.Name)
	}
	p.setReady(len(active))
	p.setRegressed()
	if equality.Semantic.DeepEqual(p.before.Status, p.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(p.before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, p.DeepCopy(), patch); err != nil {
		return err
	}
	for _, n := range p.notes {
		r.Events.Eventf(p.StorageBenchmarkSchedule, nil, n.kind, n.reason, "Schedule", "%s", n.message)
	}
	return nil
}

// setReady says whether runs are made. A suspended schedule is as it should be.
func (p *pass) setReady(active int) {
	p.Status.ObservedGeneration = p.Generation
	switch {
	case p.obstacle != nil:
		if c := meta.FindStatusCondition(p.before.Status.Conditions, v1alpha1.ConditionStalled); c == nil || c.Reason != p.obstacle.reason {
			p.warn(p.obstacle.reason, p.obstacle.message)
		}
		p.set(v1alpha1.ConditionReady, metav1.ConditionFalse, p.obstacle.reason, p.obstacle.message)
		p.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, p.obstacle.reason, p.obstacle.message)
	case p.Spec.Suspend:
		meta.RemoveStatusCondition(&p.Status.Conditions, v1alpha1.ConditionStalled)
		p.set(v1alpha1.ConditionReady, metav1.ConditionTrue, reason.Suspended, "spec.suspend is true: no runs are made"+goingOn(active))
	default:
		meta.RemoveStatusCondition(&p.Status.Conditions, v1alpha1.ConditionStalled)
		next := "no run is to come"
		if at := p.Status.NextScheduleTime; at != nil {
			next = "the next run starts at " + at.UTC().Format(time.RFC3339)
		}
		p.set(v1alpha1.ConditionReady, metav1.ConditionTrue, reason.Scheduled, next+goingOn(active))
	}
	if p.Spec.Suspend {
		p.set(v1alpha1.ConditionSuspended, metav1.ConditionTrue, reason.Suspended, "spec.suspend is true: no runs are made")
	} else {
		meta.RemoveStatusCondition(&p.Status.Conditions, v1alpha1.ConditionSuspended)
	}
}

func goingOn(active int) string {
	switch active {
	case 0:
		return ""
	case 1:
		return "; 1 run goes on"
	}
	return fmt.Sprintf("; %d runs go on", active)
}

// setRegressed says whether a median is worse than it was.
func (p *pass) setRegressed() {
	minChange := history.DefaultMinChange
	if limit, err := plan.Percent(p.Spec.MinChange); err == nil { // or else it is empty: the schema checks it
		minChange = limit
	}
	acknowledged, err := history.Acknowledged(p.Annotations[v1alpha1.AnnotationAcknowledge])
	c := history.Judge(&p.Status, minChange, acknowledged)
	if err != nil {
		c.Message += "; " + err.Error()
		if c.Status != metav1.ConditionTrue {
			c.Reason = reason.InvalidAcknowledgement
		}
	}
	was := meta.FindStatusCondition(p.before.Status.Conditions, v1alpha1.ConditionRegressed)
	p.set(v1alpha1.ConditionRegressed, c.Status, c.Reason, c.Message)
	is := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRegressed)
	switch {
	case err != nil && (was == nil || was.Message != is.Message):
		p.warn(reason.InvalidAcknowledgement, err.Error())
	case c.Status == metav1.ConditionTrue && (was == nil || was.Status != metav1.ConditionTrue):
		p.warn(c.Reason, c.Message)
	case c.Status == metav1.ConditionFalse && was != nil && was.Status == metav1.ConditionTrue:
		p.notes = append(p.notes, note{corev1.EventTypeNormal, c.Reason, c.Message})
	}
}

func (p *pass) set(kind string, is metav1.ConditionStatus, why, message string) {
	meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
		Type: kind, Status: is, Reason: why, Message: status.Shorten(message, maxMessage), ObservedGeneration: p.Generation,
		LastTransitionTime: metav1.NewTime(p.now),
	})
}
