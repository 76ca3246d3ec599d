package status

import (
	"fmt"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/trial"
)

// maxFailures is the number of failures that a status lists, as in the API's schema.
const maxFailures = 8

// End is how a worker ended.
type End struct {
	// Position of the worker in the plan.
	Position     int
	Worker, Node string
	// Stored is the number of its trials in the result store, and Spared of those that it did not
	// need.
	Stored, Spared int32
	// Spent is how much of the run's budget its trials took; nil: there is no budget.
	Spent *time.Duration
	// Digest of the document that was accepted of it; empty: there is none.
	Digest string
	// Reason is empty if the worker measured every trial.
	Reason, Message string
}

// EndWorker records a worker's end. It does nothing if the end is already
// recorded.
func EndWorker(run *v1alpha1.RunStatus, e End) {
	ended := progress.ParseSet(run.Ended)
	if ended.Has(e.Position) {
		return
	}
	run.Ended = ended.With(e.Position).String()
	SetCurrent(run, "", "")
	run.TrialsStored += e.Stored
	run.TrialsPlanned -= e.Spared
	if a := run.Accepted; a != nil && e.Digest != "" {
		a.Workers, a.Digest = progress.Append(a.Workers, e.Position), trial.Chain(a.Digest, e.Position, e.Digest)
	}
	if e.Spent != nil {
		before := BudgetSpent(run)
		run.BudgetSpent = &metav1.Duration{Duration: before + min(max(0, *e.Spent), math.MaxInt64-before)}
	}
	if e.Reason == "" {
		run.WorkersDone++
	} else {
		run.WorkersFailed++
		Fail(run, e)
	}
	setProgress(run)
}

// BudgetSpent is how much of the run's budget the workers that have ended have spent.
func BudgetSpent(run *v1alpha1.RunStatus) time.Duration {
	if run.BudgetSpent == nil {
		return 0
	}
	return run.BudgetSpent.Duration
}

// WholeRun replaces the worker's name in a failure of the run as a whole. No worker has
// this name, because those contain a dot.
const WholeRun = "run"

// Fail adds a failure to the status, if there is room. There is always room for that of
// the run as a whole.
func Fail(run *v1alpha1.RunStatus, e End) {
	if e.Worker == WholeRun && len(run.Failures) >= maxFailures {
		run.Failures = run.Failures[:maxFailures-1]
	}
	if len(run.Failures) < maxFailures {
		run.Failures = append(run.Failures, v1alpha1.WorkerFailure{
			Worker: e.Worker, Node: e.Node, Reason: Shorten(e.Reason, 64), Message: Shorten(withoutSignatures(e.Message), maxMessage),
		})
	}
}

// SetCurrent records the worker that runs or that the run waits for; an empty name
// means none. The trials that another worker stored are counted again when it runs
// again.
func SetCurrent(run *v1alpha1.RunStatus, worker, node string) {
	if run.Current != nil && run.Current.Worker == worker {
		return
	}
	if run.Current != nil {
		run.TrialsStored -= run.Current.TrialsStored
	}
	run.Current = nil
	if worker != "" {
		run.Current = &v1alpha1.CurrentWorker{Worker: worker, Node: node}
	}
	setProgress(run)
}

// SetStored records how many trials of the current worker are stored.
func SetStored(run *v1alpha1.RunStatus, stored int32) {
	if run.Current == nil {
		return
	}
	run.TrialsStored += stored - run.Current.TrialsStored
	run.Current.TrialsStored = stored
	setProgress(run)
}

// SetTotals records how many trials are stored: none when a run begins, and those found in
// the store at its end.
func SetTotals(run *v1alpha1.RunStatus, stored int32) {
	run.TrialsStored = stored
	setProgress(run)
}

// AddNote adds a note, unless there is no room or the status already has it.
func AddNote(run *v1alpha1.RunStatus, note string) {
	note = Shorten(note, 512)
	if !slices.Contains(run.Notes, note) && len(run.Notes) < 8 {
		run.Notes = append(run.Notes, note)
	}
}

func setProgress(run *v1alpha1.RunStatus) {
	run.TrialsStored = max(0, run.TrialsStored)
	run.Progress = fmt.Sprintf("%d/%d", run.TrialsStored, run.TrialsPlanned)
}
