package status

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// ErrMayPass marks a failure that can go away without anybody's help.
var ErrMayPass = errors.New("it may go away by itself")

// Outcome is the result of a pass: what the conditions say until the next pass.
type Outcome struct {
	// Reason and Message of the condition Ready; empty: unchanged.
	Reason, Message string
	// Stalled reports that the benchmark makes no progress until somebody acts.
	Stalled bool
	// Active reports that this time counts towards spec.timeout.
	Active bool
	// Again is when to look again if no event arrives; zero: never.
	Again time.Duration
}

// Underway is the outcome of work that continues, or waits for something that needs no
// help.
func Underway(why, message string, again time.Duration) Outcome {
	return Outcome{Reason: why, Message: message, Again: again}
}

// Failure is the outcome of an error. A *trial.Failure stalls the benchmark, because
// somebody must act, unless it wraps ErrMayPass. After any other error the operator tries
// again.
func Failure(err error) Outcome {
	failure, ok := errors.AsType[*trial.Failure](err)
	if !ok {
		return Outcome{Reason: reason.InternalError, Message: fmt.Sprintf("the operator will try again after an error: %v", err)}
	}
	return Outcome{Reason: string(failure.Class), Message: failure.Error(), Stalled: !errors.Is(err, ErrMayPass)}
}

// Record is what a benchmark's conditions need to know about a NodeRestore.
type Record struct {
	Node    string
	Phase   v1alpha1.RestorePhase
	Message string
}

// Pass is the input of Summarize at the end of a pass.
type Pass struct {
	Generation int64
	Now        time.Time
	Outcome    Outcome
	// Records of the benchmark.
	Records []Record
	// Gates is the number of gates of the spec.
	Gates int
}

// Summarize writes the conditions. Nothing else does.
func Summarize(s *v1alpha1.StorageBenchmarkStatus, p Pass) {
	w := writer{status: s, generation: p.Generation, now: p.Now}
	run := s.Run
	countActiveTime(run, p)
	truncateTimes(run)
	setTunablesRestored(w, p)
	if p.Outcome.Reason != "" || run != nil && run.FinishedAt != nil {
		setQualified(w, p)
	}
	switch finished := run != nil && run.FinishedAt != nil; {
	case finished && p.Outcome.Reason == "":
		setEnded(w, run, p.Records)
	case p.Outcome.Reason == "":
		w.setObserved()
	case p.Outcome.Stalled:
		w.setBlocked(p.Outcome.Reason, p.Outcome.Message)
	default:
		w.setUnderway(p.Outcome.Reason, p.Outcome.Message)
	}
	if run == nil || run.FinishedAt == nil {
		w.clearEnded()
	}
}

// setObserved makes the conditions valid for this generation too, because it
// changed nothing that concerns them.
func (w writer) setObserved() {
	w.status.ObservedGeneration = w.generation
	for i := range w.status.Conditions {
		w.status.Conditions[i].ObservedGeneration = w.generation
	}
}

// countActiveTime adds up the time in which the run was active.
func countActiveTime(run *v1alpha1.RunStatus, p Pass) {
	if run == nil {
		return
	}
	active := p.Outcome.Active && run.StartedAt != nil && run.FinishedAt == nil
	switch {
	case active && run.ActiveSince == nil:
		run.ActiveSince = new(metav1.NewTime(p.Now))
	case !active && run.ActiveSince != nil:
		run.ActiveFor = &metav1.Duration{Duration: Active(run, p.Now).Round(time.Second)}
		run.ActiveSince = nil
	}
}

// truncateTimes leaves the times of a run as the API server will return them, in whole seconds.
// What is said of them then stays the same in the passes that read them back.
func truncateTimes(run *v1alpha1.RunStatus) {
	if run == nil {
		return
	}
	for _, t := range []*metav1.Time{run.StartedAt, run.FinishedAt, run.ActiveSince} {
		if t != nil {
			*t = t.Rfc3339Copy()
		}
	}
}

// Active returns how long a run has been active.
func Active(run *v1alpha1.RunStatus, now time.Time) time.Duration {
	total := time.Duration(0)
	if run.ActiveFor != nil {
		total = run.ActiveFor.Duration
	}
	if run.ActiveSince != nil {
		total += max(0, now.Sub(run.ActiveSince.Time))
	}
	return total
}

// setTunablesRestored sets the condition TunablesRestored from the records. A benchmark
// that has never changed a setting does not get one.
func setTunablesRestored(w writer, p Pass) {
	known := meta.FindStatusCondition(w.status.Conditions, v1alpha1.ConditionTunablesRestored) != nil
	if len(p.Records) == 0 {
		if known {
			w.set(v1alpha1.ConditionTunablesRestored, metav1.ConditionTrue, reason.Restored, "every setting has its old value again")
		}
		return
	}
	why, message := describeWorst(p.Records)
	w.set(v1alpha1.ConditionTunablesRestored, metav1.ConditionFalse, why, message)
}

// phases are the messages for the phases of records, the worst phase first.
var phases = []struct {
	phase        v1alpha1.RestorePhase
	why, message string
}{
	{v1alpha1.RestoreFailed, reason.TunablesNotRestored, "settings could not be restored, the operator will try again: %s"},
	{v1alpha1.RestoreNodeAway, reason.NodeAway, "settings will be restored when the node is ready again: %s"},
	{v1alpha1.RestoreRunning, reason.Restoring, "a Job of the operator is restoring the settings of %s"},
	{v1alpha1.RestoreAbandoned, reason.GivenUp, "an administrator gave up restoring the settings of %s"},
	{v1alpha1.RestoreGone, reason.NodeGone, "the node was deleted before its settings were restored: %s"},
	{v1alpha1.RestoreInUse, reason.Changed, "a worker is measuring with changed settings on %s"},
	{"", reason.Changed, "a worker is measuring with changed settings on %s"},
}

// describeWorst returns the reason and message for the worst phase among the records:
// its nodes and the first of their messages.
func describeWorst(records []Record) (why, message string) {
	for _, words := range phases {
		var nodes []string
		detail := ""
		for _, r := range records {
			if r.Phase != words.phase {
				continue
			}
			nodes = append(nodes, "node "+r.Node)
			if detail == "" && r.Message != "" {
				detail = ": " + r.Message
			}
		}
		if len(nodes) > 0 {
			if more := len(nodes) - 3; more > 0 {
				nodes = append(nodes[:3], fmt.Sprintf("%d more", more))
			}
			return words.why, fmt.Sprintf(words.message, strings.Join(nodes, ", ")) + detail
		}
	}
	return reason.Changed, ""
}

// setEnded writes the conditions of a run that has ended.
func setEnded(w writer, run *v1alpha1.RunStatus, records []Record) {
	stored := run.TrialsStored >= run.TrialsPlanned
	storedMessage := fmt.Sprintf("%d of %s and the run's summary.json are stored", run.TrialsStored, Count(run.TrialsPlanned, "trial"))
	if failure := wholeRunFailure(run); failure != nil {
		stored, storedMessage = false, fmt.Sprintf("%d of %s are stored, but not the run's summary.json: %s",
			run.TrialsStored, Count(run.TrialsPlanned, "trial"), failure.Message)
	}
	switch {
	case !HasStore(run):
		w.unset(v1alpha1.ConditionResultsStored)
	case stored:
		w.set(v1alpha1.ConditionResultsStored, metav1.ConditionTrue, reason.Finished, storedMessage)
	default:
		w.set(v1alpha1.ConditionResultsStored, metav1.ConditionFalse, reason.ResultsNotStored, storedMessage)
	}
	why, message := reason.Finished, fmt.Sprintf("measured %s of %s in %s", Count(run.TrialsStored, "trial"), Count(run.WorkersTotal, "worker"), runDuration(run))
	failed := run.WorkersFailed > 0 || len(run.Failures) > 0
	if failed {
		first := v1alpha1.WorkerFailure{Reason: reason.InternalError, Message: "the failures are in summary.json in the result store"}
		if len(run.Failures) > 0 {
			first = run.Failures[0]
		}
		why = first.Reason
		message = first.Message
		if run.WorkersFailed > 0 {
			message = fmt.Sprintf("worker %s: %s (%d of %s failed; %d of %s stored)", first.Worker, Shorten(first.Message, maxMessage-200),
				run.WorkersFailed, Count(run.WorkersTotal, "worker"), run.TrialsStored, Count(run.TrialsPlanned, "trial"))
		}
		w.set(v1alpha1.ConditionFailed, metav1.ConditionTrue, why, message)
		w.unset(v1alpha1.ConditionComplete)
	} else {
		w.set(v1alpha1.ConditionComplete, metav1.ConditionTrue, why, message)
		w.unset(v1alpha1.ConditionFailed)
	}
	restoring, restoreMessage := describeWorst(records)
	switch pending := pendingRecords(records); {
	case pending && restoring == reason.TunablesNotRestored:
		w.setBlocked(restoring, restoreMessage)
	case pending && restoring == reason.Restoring:
		// This lasts a moment: the worker has ended, and a Job checks its node.
		w.setUnderway(restoring, "the run has ended; "+restoreMessage)
	case failed:
		w.setBlocked(why, message)
	case pending:
		w.setUnderway(restoring, "the run has ended; "+restoreMessage)
	default:
		w.setReady(why, message)
	}
}

// HasStore reports whether the documents of a run go to a ResultStore.
func HasStore(run *v1alpha1.RunStatus) bool { return !run.StatusOnly }

// wholeRunFailure returns the failure that ended the run as a whole before its summary was
// stored, or nil.
func wholeRunFailure(run *v1alpha1.RunStatus) *v1alpha1.WorkerFailure {
	for i := range run.Failures {
		if run.Failures[i].Worker == WholeRun {
			return &run.Failures[i]
		}
	}
	return nil
}

// pendingRecords reports whether the operator still has to restore a node.
func pendingRecords(records []Record) bool {
	for _, r := range records {
		if !r.Phase.Over() {
			return true
		}
	}
	return false
}

func runDuration(run *v1alpha1.RunStatus) time.Duration {
	if run.StartedAt == nil || run.FinishedAt == nil {
		return 0
	}
	return run.FinishedAt.Sub(run.StartedAt.Time).Round(time.Second)
}

// Count returns "1 trial" or "2 trials".
func Count(n int32, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
