package status

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// maxMessage keeps a status small; a condition's own limit is 32 KiB.
const maxMessage = 1024

// writer sets conditions at one moment, for one generation of the spec.
type writer struct {
	status     *v1alpha1.StorageBenchmarkStatus
	generation int64
	now        time.Time
}

// setUnderway says that the operator works on the benchmark, or waits for
// something that needs no action.
func (w writer) setUnderway(why, message string) {
	w.set(v1alpha1.ConditionReady, metav1.ConditionFalse, why, message)
	w.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, why, message)
	w.unset(v1alpha1.ConditionStalled)
}

// setBlocked says that the benchmark makes no progress until somebody acts.
func (w writer) setBlocked(why, message string) {
	w.set(v1alpha1.ConditionReady, metav1.ConditionFalse, why, message)
	w.unset(v1alpha1.ConditionReconciling)
	w.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, why, message)
}

// setReady says that the run succeeded and nothing is left to do.
func (w writer) setReady(why, message string) {
	w.set(v1alpha1.ConditionReady, metav1.ConditionTrue, why, message)
	w.unset(v1alpha1.ConditionReconciling)
	w.unset(v1alpha1.ConditionStalled)
}

// clearEnded removes the conditions of a run that has ended.
func (w writer) clearEnded() {
	w.unset(v1alpha1.ConditionComplete)
	w.unset(v1alpha1.ConditionFailed)
	if w.status.Run == nil {
		w.set(v1alpha1.ConditionResultsStored, metav1.ConditionUnknown, reason.Pending, "no run has started yet")
		return
	}
	if !HasStore(w.status.Run) {
		w.unset(v1alpha1.ConditionResultsStored)
		return
	}
	w.set(v1alpha1.ConditionResultsStored, metav1.ConditionUnknown, reason.Running, "the run has not ended")
}

func (w writer) set(kind string, status metav1.ConditionStatus, why, message string) {
	w.status.ObservedGeneration = w.generation
	meta.SetStatusCondition(&w.status.Conditions, metav1.Condition{
		Type:               kind,
		Status:             status,
		Reason:             why,
		Message:            Shorten(withoutSignatures(message), maxMessage),
		ObservedGeneration: w.generation,
		LastTransitionTime: metav1.NewTime(w.now),
	})
}

func (w writer) unset(kind string) { meta.RemoveStatusCondition(&w.status.Conditions, kind) }

// signature matches the query of a URL: that of a signed URL lets its reader
// upload.
var signature = regexp.MustCompile(`(https?://[^\s"'?]+)\?[^\s"']+`)

func withoutSignatures(message string) string { return signature.ReplaceAllString(message, "$1") }

// Shorten cuts s to at most n bytes, never inside a character. It removes characters that
// control a terminal or the direction of text: a tenant may have written the text, and an
// administrator reads it.
func Shorten(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) || r == '\n' || r == '\t' {
			return r
		}
		return -1
	}, s)
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
