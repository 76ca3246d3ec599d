package stopping

import (
	"math"

	"storagebench.io/storagebench/internal/knee"
	"storagebench.io/storagebench/internal/result"
)

// search decides the rate of the group's next probe from those that are stored, or that it needs no more.
func (g *group) search() {
	var done []*result.TrialSummary
	for _, t := range g.trials {
		if s := g.stored[t.ID]; s != nil {
			done = append(done, s)
		}
	}
	g.measured = len(done)
	g.narrower = math.Inf(1) // nothing is known before a search has ended
	if len(g.failed) > 0 {
		g.next = nil
		return
	}
	answer := knee.For(*g.knee).Decide(knee.Of(*g.knee, done))
	if answer.Next == 0 {
		g.enough = true
		return
	}
	if g.next == nil { // every planned probe is stored
		return
	}
	next := *g.next
	next.Rate = answer.Next
	g.next = &next
}
