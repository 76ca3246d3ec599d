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

// ErrMayPass marks a failure that can pass without anybody's help.
var ErrMayPass = errors.New("it may pass")

// Outcome is what a pass came to: what is said of the benchmark until the next one.
type Outcome struct {
	// Reason and Message of Ready; empty: what was said before stays.
	Reason, Message string
	// Stalled: it goes no further until somebody acts.
	Stalled bool
	// Active: the time counts, of which a run has spec.timeout.
	Active bool
	// Again is when to look again if nothing is seen to change; zero for never.
	Again time.Duration
}

// Underway is the outcome of work that goes on, or waits for what needs nobody's help.
func Underway(why, message string, again time.Duration) Outcome {
	return Outcome{Reason: why, Message: message, Again: again}
}

// Failure is the outcome of an error: a *trial.Failure says what somebody must do, unless
// it wraps ErrMayPass. Any other error is tried again, and said as well.
func Failure(err error) Outcome {
	failure, ok := errors.AsType[*trial.Failure](err)
	if !ok {
		return Outcome{Reason: reason.InternalError, Message: fmt.Sprintf("the operator tries again after an error: %v", err)}
	}
	return Outcome{Reason: string(failure.Class), Message: failure.Error(), Stalled: !errors.Is(err, ErrMayPass)}
}

// Record is what the benchmark's status tells of a NodeRestore.
type Record struct {
	Node    string
	Phase   v1alpha1.RestorePhase
	Message string
}

// Pass is all that a status is summarised from at the end of a pass.
type Pass struct {
	Generation int64
	Now        time.Time
	Outcome    Outcome
	// Records of the benchmark.
	Records []Record
}

// Summarize writes the conditions. It is their only author.
func Summarize(s *v1alpha1.StorageBenchmarkStatus, p Pass) {
	w := writer{status: s, generation: p.Generation, now: p.Now}
	run := s.Run
	keepTime(run, p)
	tunables(w, p)
	switch finished := run != nil && run.FinishedAt != nil; {
	case finished && p.Outcome.Reason == "":
		ended(w, run, p.Records)
	case p.Outcome.Reason == "":
		w.observed()
	case p.Outcome.Stalled:
		w.blocked(p.Outcome.Reason, p.Outcome.Message)
	default:
		w.underway(p.Outcome.Reason, p.Outcome.Message)
	}
	if run == nil || run.FinishedAt == nil {
		w.unended()
	}
}

// observed: the conditions hold for this generation too, which changed nothing that
// they speak of.
func (w writer) observed() {
	w.status.ObservedGeneration = w.generation
	for i := range w.status.Conditions {
		w.status.Conditions[i].ObservedGeneration = w.generation
	}
}

// keepTime counts the time in which the run was active.
func keepTime(run *v1alpha1.RunStatus, p Pass) {
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

// Active is for how long a run has been active.
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

// tunables keeps the condition TunablesRestored true to the records. A benchmark that has
// never changed a setting has none.
func tunables(w writer, p Pass) {
	known := meta.FindStatusCondition(w.status.Conditions, v1alpha1.ConditionTunablesRestored) != nil
	if len(p.Records) == 0 {
		if known {
			w.set(v1alpha1.ConditionTunablesRestored, metav1.ConditionTrue, reason.Restored, "every setting is what it was before")
		}
		return
	}
	why, message := worst(p.Records)
	w.set(v1alpha1.ConditionTunablesRestored, metav1.ConditionFalse, why, message)
}

// words for the phases of records, the worst first.
var phases = []struct {
	phase        v1alpha1.RestorePhase
	why, message string
}{
	{v1alpha1.RestoreFailed, reason.TunablesNotRestored, "settings could not be put back, and it is tried again, on %s"},
	{v1alpha1.RestoreNodeAway, reason.NodeAway, "settings will be put back when the node is ready again, on %s"},
	{v1alpha1.RestoreRunning, reason.Restoring, "a Job of the operator puts the settings back on %s"},
	{v1alpha1.RestoreAbandoned, reason.GivenUp, "an administrator has given up the settings of %s"},
	{v1alpha1.RestoreGone, reason.NodeGone, "deleted or installed anew before its settings were put back: %s"},
	{v1alpha1.RestoreInUse, reason.Changed, "a worker measures with changed settings on %s"},
	{"", reason.Changed, "a worker measures with changed settings on %s"},
}

// worst says what is to be said of the records: of the worst phase, the nodes and the
// first of their messages.
func worst(records []Record) (why, message string) {
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

// ended writes the conditions of a run that has ended, from what is recorded of it.
func ended(w writer, run *v1alpha1.RunStatus, records []Record) {
	stored := run.TrialsStored >= run.TrialsPlanned
	storedMessage := fmt.Sprintf("%d of %s are stored, and the run's summary.json", run.TrialsStored, Count(run.TrialsPlanned, "trial"))
	if failure := ofRun(run); failure != nil {
		stored, storedMessage = false, fmt.Sprintf("%d of %s are stored, and the run's summary.json is not: %s",
			run.TrialsStored, Count(run.TrialsPlanned, "trial"), failure.Message)
	}
	if stored {
		w.set(v1alpha1.ConditionResultsStored, metav1.ConditionTrue, reason.Finished, storedMessage)
	} else {
		w.set(v1alpha1.ConditionResultsStored, metav1.ConditionFalse, reason.ResultsNotStored, storedMessage)
	}
	why, message := reason.Finished, fmt.Sprintf("%s of %s were measured in %s", Count(run.TrialsStored, "trial"), Count(run.WorkersTotal, "worker"), took(run))
	failed := run.WorkersFailed > 0 || len(run.Failures) > 0
	if failed {
		first := v1alpha1.WorkerFailure{Reason: reason.InternalError, Message: "see summary.json in the result store"}
		if len(run.Failures) > 0 {
			first = run.Failures[0]
		}
		why = first.Reason
		message = first.Message
		if run.WorkersFailed > 0 {
			message = fmt.Sprintf("worker %s: %s (%d of %s failed; %d of %s are stored)", first.Worker, Shorten(first.Message, maxMessage-200),
				run.WorkersFailed, Count(run.WorkersTotal, "worker"), run.TrialsStored, Count(run.TrialsPlanned, "trial"))
		}
		w.set(v1alpha1.ConditionFailed, metav1.ConditionTrue, why, message)
		w.unset(v1alpha1.ConditionComplete)
	} else {
		w.set(v1alpha1.ConditionComplete, metav1.ConditionTrue, why, message)
		w.unset(v1alpha1.ConditionFailed)
	}
	restoring, restoreMessage := worst(records)
	switch pending := pendingRecords(records); {
	case pending && restoring == reason.TunablesNotRestored:
		w.blocked(restoring, restoreMessage)
	case pending && restoring == reason.Restoring:
		// For a moment: the worker has ended, and a Job looks at its node.
		w.underway(restoring, "the run has ended; "+restoreMessage)
	case failed:
		w.blocked(why, message)
	case pending:
		w.underway(restoring, "the run has ended; "+restoreMessage)
	default:
		w.ready(why, message)
	}
}

// ofRun is the failure of the run as a whole, which ended it before its summary was stored.
func ofRun(run *v1alpha1.RunStatus) *v1alpha1.WorkerFailure {
	for i := range run.Failures {
		if run.Failures[i].Worker == WholeRun {
			return &run.Failures[i]
		}
	}
	return nil
}

// pendingRecords reports whether a node will still be restored.
func pendingRecords(records []Record) bool {
	for _, r := range records {
		if !r.Phase.Over() {
			return true
		}
	}
	return false
}

func took(run *v1alpha1.RunStatus) time.Duration {
	if run.StartedAt == nil || run.FinishedAt == nil {
		return 0
	}
	return run.FinishedAt.Sub(run.StartedAt.Time).Round(time.Second)
}

// Count is "1 trial" or "2 trials".
func Count(n int32, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
