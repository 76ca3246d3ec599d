//go:build integration

package integration

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"storagebench.io/storagebench/api/v1alpha1"
)

// violations are what tools that read conditions could not make sense of: the rules of
// kstatus, as Flux's controllers check them of themselves.
func violations(b *v1alpha1.StorageBenchmark) (found []string) {
	note := func(bad bool, format string, args ...any) {
		if bad {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	all := b.Status.Conditions
	is := func(kind string) bool { return meta.IsStatusConditionTrue(all, kind) }
	ready := meta.FindStatusCondition(all, v1alpha1.ConditionReady)
	if ready == nil {
		return []string{"there is no condition Ready"}
	}
	reconciling, stalled := meta.FindStatusCondition(all, v1alpha1.ConditionReconciling), meta.FindStatusCondition(all, v1alpha1.ConditionStalled)
	isReady := ready.Status == metav1.ConditionTrue
	note(reconciling != nil && stalled != nil, "both Reconciling and Stalled are there")
	note(isReady && (reconciling != nil || stalled != nil), "it is Ready, and Reconciling or Stalled")
	note(!isReady && reconciling == nil && stalled == nil, "it is not Ready, and neither Reconciling nor Stalled says why: it waits for nobody")
	note(reconciling != nil && reconciling.Status != metav1.ConditionTrue, "Reconciling is there and not True")
	note(stalled != nil && stalled.Status != metav1.ConditionTrue, "Stalled is there and not True")
	for _, c := range []*metav1.Condition{reconciling, stalled} {
		note(c != nil && (c.Reason != ready.Reason || c.Message != ready.Message), "%+v does not say what Ready says: %+v", c, ready)
	}
	note(is(v1alpha1.ConditionComplete) && is(v1alpha1.ConditionFailed), "it is Complete and Failed")
	over := b.Status.Run != nil && b.Status.Run.FinishedAt != nil
	note(over != (is(v1alpha1.ConditionComplete) || is(v1alpha1.ConditionFailed)), "the run has ended: %v, and neither or both of Complete and Failed say so", over)
	note(isReady && !is(v1alpha1.ConditionComplete), "it is Ready, and not Complete")
	note(b.Status.ObservedGeneration != b.Generation, "generation %d is observed of %d", b.Status.ObservedGeneration, b.Generation)
	for _, c := range all {
		note(c.Message == "" || c.Reason == "", "%s has no reason or no message: %+v", c.Type, c)
		note(c.ObservedGeneration > b.Status.ObservedGeneration, "%s is of generation %d, and the status of %d", c.Type, c.ObservedGeneration, b.Status.ObservedGeneration)
		summarised := c.Type == v1alpha1.ConditionReady || c.Type == v1alpha1.ConditionReconciling || c.Type == v1alpha1.ConditionStalled
		note(summarised && c.ObservedGeneration != b.Status.ObservedGeneration, "%s is of generation %d, and the status of %d", c.Type, c.ObservedGeneration, b.Status.ObservedGeneration)
	}
	return append(found, kstatusDisagrees(b)...)
}

// kstatusDisagrees compares what kstatus makes of a benchmark with its conditions.
func kstatusDisagrees(b *v1alpha1.StorageBenchmark) []string {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	if err != nil {
		return []string{err.Error()}
	}
	computed, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		return []string{"kstatus: " + err.Error()}
	}
	want := status.InProgressStatus
	switch {
	case !b.DeletionTimestamp.IsZero():
		want = status.TerminatingStatus
	case meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReady):
		want = status.CurrentStatus
	case meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled), meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionFailed):
		want = status.FailedStatus
	}
	if computed.Status != want {
		return []string{fmt.Sprintf("kstatus says %s (%s), want %s: %+v", computed.Status, computed.Message, want, b.Status.Conditions)}
	}
	return nil
}
