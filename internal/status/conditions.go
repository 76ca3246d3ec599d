package status

import (
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
)

// maxMessage keeps a status small; a condition's own limit is 32 KiB.
const maxMessage = 1024

// Writer sets conditions at one moment, for one generation of the spec.
type Writer struct {
	Status     *v1alpha1.StorageBenchmarkStatus
	Generation int64
	Now        time.Time
}

// Underway: the operator works on it, or waits for what needs no action.
func (w Writer) Underway(reason, message string) {
	w.set(v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	w.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
	w.unset(v1alpha1.ConditionStalled)
	w.set(v1alpha1.ConditionResultsStored, metav1.ConditionUnknown, reason, "the run has not ended")
}

// Blocked: it goes no further until somebody acts.
func (w Writer) Blocked(reason, message string) {
	w.set(v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	w.unset(v1alpha1.ConditionReconciling)
	w.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, message)
	if meta.FindStatusCondition(w.Status.Conditions, v1alpha1.ConditionResultsStored) == nil {
		w.set(v1alpha1.ConditionResultsStored, metav1.ConditionUnknown, reason, "the run has not ended")
	}
}

// Finished: the run has ended. It is ready if every trial was measured and
// stored, and otherwise stalled for reason, with all that was measured kept.
func (w Writer) Finished(ok bool, reason, message string, stored bool, storedMessage string) {
	if ok {
		w.set(v1alpha1.ConditionReady, metav1.ConditionTrue, reason, message)
		w.unset(v1alpha1.ConditionReconciling)
		w.unset(v1alpha1.ConditionStalled)
	} else {
		w.Blocked(reason, message)
	}
	if stored {
		w.set(v1alpha1.ConditionResultsStored, metav1.ConditionTrue, v1alpha1.ReasonFinished, storedMessage)
	} else {
		w.set(v1alpha1.ConditionResultsStored, metav1.ConditionFalse, v1alpha1.ReasonResultsNotStored, storedMessage)
	}
}

// TunablesRestored: whether every setting of the nodes is what it was before.
func (w Writer) TunablesRestored(ok bool, reason, message string) {
	status := metav1.ConditionFalse
	if ok {
		status = metav1.ConditionTrue
	}
	w.set(v1alpha1.ConditionTunablesRestored, status, reason, message)
}

// Observed: the conditions hold for this generation too, which changed nothing that
// they speak of.
func (w Writer) Observed() {
	w.Status.ObservedGeneration = w.Generation
	for i := range w.Status.Conditions {
		w.Status.Conditions[i].ObservedGeneration = w.Generation
	}
}

func (w Writer) set(kind string, status metav1.ConditionStatus, reason, message string) {
	w.Status.ObservedGeneration = w.Generation
	meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
		Type:               kind,
		Status:             status,
		Reason:             reason,
		Message:            Shorten(message, maxMessage),
		ObservedGeneration: w.Generation,
		LastTransitionTime: metav1.NewTime(w.Now),
	})
}

func (w Writer) unset(kind string) { meta.RemoveStatusCondition(&w.Status.Conditions, kind) }

// Shorten cuts s to at most n bytes, at a character's boundary.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
