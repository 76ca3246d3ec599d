package restore

import (
	"fmt"
	"time"

	"storagebench.io/storagebench/api/v1alpha1"
)

// worker is what is seen of the worker that a record was written for.
type worker int

const (
	// workerActive: a Pod of it may run, now or later.
	workerActive worker = iota
	// workerEnding: its Job starts no more Pods, and one of them has not ended yet.
	workerEnding
	// workerEnded: there is none any more.
	workerEnded
)

// attempt is what is seen of the restore Job of the present attempt.
type attempt int

const (
	attemptNone attempt = iota
	attemptRunning
	attemptSucceeded
	attemptFailed
)

// facts are all that a decision depends on.
type facts struct {
	now    time.Time
	record *v1alpha1.NodeRestore
	// nodeGone: there is no node of the record's name.
	nodeGone  bool
	nodeReady bool
	worker    worker
	// endingFor is how long the worker has been seen as ending.
	endingFor time.Duration
	attempt   attempt
	// unstarted is how old an attempt is that runs and whose container has never started.
	unstarted time.Duration
	// said is what the restore printed last, or what keeps its Pod from starting.
	said string
}

// step is what to do with the restore Job.
type step int

const (
	stepNone step = iota
	// stepCreate makes the Job of the present attempt.
	stepCreate
	// stepRetry counts the present attempt as failed.
	stepRetry
	// stepClose deletes the record: the node is as it was.
	stepClose
)

// decision is what to do, and what to say of it.
type decision struct {
	step    step
	phase   v1alpha1.RestorePhase
	message string
	again   time.Duration
}

// How often to look at what causes no event.
const (
	pollRestoring = 2 * time.Second
	pollAway      = 30 * time.Second
)

// endingPatience is how long Pods that look like the worker's are waited for. Whoever may
// create Pods in the namespace can forge one that never ends; the worker itself holds the
// journal's lock, so that a restore beside it changes nothing, fails, and is tried again.
const endingPatience = 2 * time.Minute

// startLimit is how long an attempt may take to start. Its Job is as the operator was when it
// made it, so that the next one may start with an image that has been corrected since.
const startLimit = 5 * time.Minute

// retryAfter is how long after the n-th failure it is tried again: 5 s, 10 s … 5 min.
func retryAfter(n int32) time.Duration {
	return min(5*time.Second<<min(max(n-1, 0), 10), 5*time.Minute)
}

// abandonValue is what the annotation must say: an administrator means this record, and no
// other one that has the node's name some time later.
func abandonValue(r *v1alpha1.NodeRestore) string { return string(r.UID) + "/Abandon" }

// decide says what a record needs now. It is pure.
func decide(f facts) decision {
	status, node := f.record.Status, f.record.Name
	switch {
	case status.Phase == v1alpha1.RestoreAbandoned:
		return decision{phase: status.Phase, message: status.Message}
	case f.record.Annotations[v1alpha1.AnnotationAbandon] == abandonValue(f.record):
		return decision{phase: v1alpha1.RestoreAbandoned, message: fmt.Sprintf("an administrator gave up with the annotation %s: settings of node %s may still be changed", v1alpha1.AnnotationAbandon, node)}
	case f.nodeGone:
		return decision{phase: v1alpha1.RestoreGone, message: fmt.Sprintf("node %s was deleted before its settings were restored; they will be if it comes back", node)}
	case f.worker == workerActive:
		return decision{phase: v1alpha1.RestoreInUse, message: fmt.Sprintf("worker %s may change settings", f.record.Spec.Worker), again: pollAway}
	case !f.nodeReady:
		return decision{phase: v1alpha1.RestoreNodeAway, message: fmt.Sprintf("node %s is not ready; its settings will be restored when it is", node), again: pollAway}
	case f.worker == workerEnding && f.endingFor < endingPatience:
		return decision{phase: keepFailed(status), message: fmt.Sprintf("waiting until the Pod of worker %s has ended", f.record.Spec.Worker), again: pollRestoring}
	}
	return restoring(f)
}

// restoring is the part of decide for a node that is there and that no worker uses.
func restoring(f facts) decision {
	status := f.record.Status
	switch {
	case f.attempt == attemptSucceeded:
		return decision{step: stepClose, phase: v1alpha1.RestoreRunning}
	case f.attempt == attemptFailed, f.attempt == attemptRunning && f.unstarted > startLimit:
		return decision{step: stepRetry, phase: v1alpha1.RestoreFailed, message: failureMessage(f), again: retryAfter(status.Attempts + 1)}
	case f.attempt == attemptRunning:
		d := decision{phase: keepFailed(status), message: status.Message, again: pollRestoring}
		if d.phase != v1alpha1.RestoreFailed {
			d.message = "a Job puts the settings back"
			if f.said != "" {
				d.message = "the Job that puts the settings back does not start: " + f.said
			}
		}
		return d
	}
	if status.FailedAt != nil {
		if left := status.FailedAt.Add(retryAfter(status.Attempts)).Sub(f.now); left > 0 {
			return decision{phase: v1alpha1.RestoreFailed, message: status.Message, again: left}
		}
	}
	d := decision{step: stepCreate, phase: keepFailed(status), message: status.Message, again: pollRestoring}
	if d.phase != v1alpha1.RestoreFailed {
		d.message = "a Job puts the settings back"
	}
	return d
}

// keepFailed stays Failed until an attempt succeeds, so that the condition does not flip with
// every attempt.
func keepFailed(status v1alpha1.NodeRestoreStatus) v1alpha1.RestorePhase {
	if status.Attempts > 0 {
		return v1alpha1.RestoreFailed
	}
	return v1alpha1.RestoreRunning
}

func failureMessage(f facts) string {
	said := f.said
	if said == "" {
		said = "the restore left no message"
	}
	return fmt.Sprintf("a setting of node %s could not be restored: %s", f.record.Name, said)
}
