package status

import (
	"fmt"
	"time"

	"storagebench.io/storagebench/api/v1alpha1"
)

// Conclude writes the conditions of a run that has ended, from what is recorded
// of its workers.
func Conclude(w Writer, run *v1alpha1.RunStatus) {
	var failed []v1alpha1.WorkerStatus
	for _, worker := range run.Workers {
		if worker.Phase == v1alpha1.WorkerFailed {
			failed = append(failed, worker)
		}
	}
	took := time.Duration(0)
	if run.StartedAt != nil && run.FinishedAt != nil {
		took = run.FinishedAt.Sub(run.StartedAt.Time).Round(time.Second)
	}
	stored := run.TrialsStored >= run.TrialsPlanned
	storedMessage := fmt.Sprintf("%d of %d trials are stored, and the run's summary.json", run.TrialsStored, run.TrialsPlanned)
	if len(failed) == 0 {
		message := fmt.Sprintf("%d trials of %d workers were measured in %s", run.TrialsStored, len(run.Workers), took)
		w.Finished(true, v1alpha1.ReasonFinished, message, stored, storedMessage)
		return
	}
	message := fmt.Sprintf("worker %s: %s (%d of %d workers failed; %d of %d trials are stored)",
		failed[0].Name, Shorten(failed[0].Message, maxMessage-200), len(failed), len(run.Workers), run.TrialsStored, run.TrialsPlanned)
	w.Finished(false, failed[0].Reason, message, stored, storedMessage)
}
