package stopping

import (
	"math"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// longest is more seconds than any run takes, and few enough for a time.Duration.
const longest = 1e9

// Share returns how long the trials of a worker that begins now may take: an equal part of what the
// workers that have ended left of the run's budget, for each of those that have not ended, which are
// left in number. Nil: the plan has no budget.
//
// Workers run one after the other. So the share never shrinks from one worker to the next, unless a
// worker's least trials take more than its share. A worker that is put off after some of its trials
// counts as one that has not ended, and has spent no more than the share that it gets when it goes on.
func Share(p *trial.Plan, spent time.Duration, left int) *time.Duration {
	if !p.HasBudget() || left <= 0 {
		return nil
	}
	whole := p.Stop.BudgetSeconds * float64(len(p.Workers))
	share := min(max(0, whole-spent.Seconds())/float64(left), longest)
	return new(milliseconds(share))
}

// Spent returns how much of the budget trials have taken. Whatever a document says, that is neither
// negative nor more than a time can be.
func Spent(done []result.TrialSummary) time.Duration {
	return milliseconds(min(secondsOf(done), longest))
}

// milliseconds are as exact as people want to read it.
func milliseconds(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds*1e3)) * time.Millisecond
}

func secondsOf(done []result.TrialSummary) float64 {
	sum := 0.0
	for i := range done {
		sum += max(0, done[i].Seconds)
	}
	return sum
}

// limit is how many seconds the trials of a worker with this share may take. A worker that was
// started without one has the plan's.
func limit(p *trial.Plan, share *time.Duration) float64 {
	switch {
	case !p.HasBudget():
		return math.Inf(1)
	case share != nil:
		return share.Seconds()
	default:
		return p.Stop.BudgetSeconds
	}
}
