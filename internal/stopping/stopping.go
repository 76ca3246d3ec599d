package stopping

import (
	"cmp"
	"slices"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Decision is what a worker does next.
type Decision struct {
	// Next trial, or nil: none is left.
	Next *trial.Trial
	// Stopped are the groups that have ended before their last planned trial.
	Stopped []result.Stopped
}

// Complete reports whether the worker of a target whose trials these are had none left to run.
func Complete(p *trial.Plan, target string, share *time.Duration, done []result.TrialSummary) bool {
	if p.Stop == nil {
		return len(done) >= len(p.Trials)
	}
	return Decide(p, target, share, done).Next == nil
}

// Decide returns the next trial of a worker that has stored these, of a plan with a rule for
// stopping. The target is the worker's: gates can be for one of several. The share is what the worker
// was started with (Share); nil: the plan's. A cell of which a trial has failed is not measured any more.
func Decide(p *trial.Plan, target string, share *time.Duration, done []result.TrialSummary) Decision {
	stored := make(map[string]*result.TrialSummary, len(done))
	for i := range done {
		stored[done[i].ID] = &done[i]
	}
	left := limit(p, share) - secondsOf(done)
	var d Decision
	var open []*group
	for _, g := range groups(p, target, stored) {
		if g.knee != nil {
			g.search()
		} else {
			g.look(p.Stop)
		}
		switch {
		case g.enough && g.knee != nil:
			d.Stopped = append(d.Stopped, g.stopped(result.StopKnee))
		case g.next != nil && g.knee != nil && g.measured > 0 && g.stepCost() > left:
			d.Stopped = append(d.Stopped, g.stopped(result.StopBudget))
		case g.next == nil || g.enough && len(g.failed) > 0:
		case g.enough:
			d.Stopped = append(d.Stopped, g.stopped(g.why))
		case g.measured >= p.Stop.Min && !g.begun(p.Stop) && g.stepCost() > left:
			d.Stopped = append(d.Stopped, g.stopped(result.StopBudget))
		default:
			open = append(open, g)
		}
	}
	if len(open) == 0 {
		return d
	}
	d.Next = choose(open, p.Stop).next
	return d
}

// choose returns the group to go on with: one whose step has begun, since what is compared must
// not be torn apart; then the first that has not its minimum, in the plan's order; then, with a
// budget, the most uncertain for its cost; without one, the first in the plan's order.
func choose(open []*group, stop *trial.Stop) *group {
	first := slices.MinFunc(open, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.order(stop), b.order(stop)), cmp.Compare(a.place, b.place))
	})
	if first.order(stop) < later || stop.BudgetSeconds == 0 {
		return first
	}
	return slices.MaxFunc(open, func(a, b *group) int { return cmp.Compare(a.score(stop), b.score(stop)) })
}
