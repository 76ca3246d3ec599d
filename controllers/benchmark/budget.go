package benchmark

import (
	"time"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/stopping"
	"storagebench.io/storagebench/internal/trial"
)

// share returns what a worker that is started now may spend of the run's budget; nil: there is none.
// Which workers have ended and what they spent are recorded together, so whoever reads the status
// comes to the same share.
func share(run *v1alpha1.RunStatus, p *trial.Plan) *time.Duration {
	return stopping.Share(p, status.BudgetSpent(run), unended(run, p))
}

// unended is how many workers have not ended.
func unended(run *v1alpha1.RunStatus, p *trial.Plan) int {
	return len(p.Workers) - progress.ParseSet(run.Ended).Len()
}
