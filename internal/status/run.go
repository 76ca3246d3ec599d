package status

import (
	"fmt"
	"slices"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/progress"
)

// maxFailures is the number of failed workers that a status tells of, as in the API's schema.
const maxFailures = 8

// End is how a worker ended.
type End struct {
	// Position of the worker in the plan.
	Position     int
	Worker, Node string
	// Stored is the number of its trials that are in the result store.
	Stored int32
	// Reason is empty if it measured every trial.
	Reason, Message string
}

// EndWorker records a worker's end. A worker's end is recorded once.
func EndWorker(run *v1alpha1.RunStatus, e End) {
	ended := progress.ParseSet(run.Ended)
	if ended.Has(e.Position) {
		return
	}
	run.Ended = ended.With(e.Position).String()
	SetCurrent(run, "", "")
	run.TrialsStored += e.Stored
	if e.Reason == "" {
		run.WorkersDone++
	} else {
		run.WorkersFailed++
		Fail(run, e)
	}
	setProgress(run)
}

// WholeRun stands for the worker in the failure of a run as a whole. No worker has the name,
// as a worker's has a dot.
const WholeRun = "run"

// Fail adds a failure to those that the status tells of, if there is room. For that of the
// run as a whole there always is.
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

// SetCurrent records which worker runs or is waited for; an empty name is none. What
// another one had stored counts again when it runs again.
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

// SetTotals records how many trials are stored: none when a run begins, and what was found
// when all results were read at its end.
func SetTotals(run *v1alpha1.RunStatus, stored int32) {
	run.TrialsStored = stored
	setProgress(run)
}

// AddNote adds a note, if there is room and it is not there already.
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
