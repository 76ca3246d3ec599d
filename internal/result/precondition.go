package result

import (
	"fmt"
	"math"

	"storagebench.io/storagebench/internal/steady"
)

// MaxRounds is the highest number of rounds of a precondition.
const MaxRounds = 100

// Precondition is what ran before the first trial of a workload in an attempt, and is not measured.
type Precondition struct {
	// MaxRounds and Offered rate as in the plan.
	MaxRounds int   `json:"maxRounds"`
	Offered   int64 `json:"offered,omitempty"`
	// Rounds that ended.
	Rounds int `json:"rounds"`
	// Seconds that all of it took, with what was done between the rounds.
	Seconds float64 `json:"seconds"`
	// Metric is the rate of the workload's first operation, of which each round has one in Rates, in
	// order. Absent after a plain warm-up of a workload without one.
	Metric string    `json:"metric,omitempty"`
	Unit   string    `json:"unit,omitempty"`
	Rates  []float64 `json:"rates,omitempty"`
	// Steady reports whether the last five rounds were steady; absent if that was not asked, or if a round
	// failed before it was known.
	Steady *bool `json:"steady,omitempty"`
}

// Add records the rate of a round. It returns false if the measurement has no number for it.
func (p *Precondition) Add(metric string, m Metrics) bool {
	p.Rounds++
	if p.Rounds == 1 {
		p.Metric, p.Unit = metric, m[metric].Unit
	}
	rate, ok := m[p.Metric]
	if p.Metric == "" || !ok || rate.AtLeast || !isRate(rate.Value) {
		p.Metric, p.Unit, p.Rates = "", "", nil
		return false
	}
	p.Rates = append(p.Rates, rate.Value)
	return true
}

// isRate reports whether a number can be a rate of something.
func isRate(v float64) bool { return v >= 0 && v <= 1e18 && !math.IsNaN(v) }

// check bounds what a tenant can upload as a precondition.
func (p *Precondition) check() error {
	if p == nil {
		return nil
	}
	switch {
	case p.MaxRounds < 0 || p.MaxRounds > MaxRounds || p.Rounds < 0 || p.Rounds > p.MaxRounds:
		return fmt.Errorf("its precondition has %d of %d rounds (limit %d)", p.Rounds, p.MaxRounds, MaxRounds)
	case len(p.Rates) > p.Rounds:
		return fmt.Errorf("its precondition has %d rates of %d rounds", len(p.Rates), p.Rounds)
	case p.Metric == "" && len(p.Rates) > 0:
		return fmt.Errorf("its precondition has %d rates, and does not name the metric", len(p.Rates))
	case p.Steady != nil && len(p.Rates) < steady.Rounds:
		return fmt.Errorf("its precondition says whether the storage was steady, which takes %d rounds, and has the rates of %d", steady.Rounds, len(p.Rates))
	case p.Metric != "" && !operationPattern.MatchString(p.Metric) || len(p.Unit) > 32 || !printable(p.Unit):
		return fmt.Errorf("its precondition has the invalid metric %.64q in %.32q", p.Metric, p.Unit)
	case p.Offered < 0 || !isRate(p.Seconds):
		return fmt.Errorf("its precondition offers %d per second for %v seconds", p.Offered, p.Seconds)
	}
	for i, rate := range p.Rates {
		if !isRate(rate) {
			return fmt.Errorf("round %d of its precondition has the rate %v", i+1, rate)
		}
	}
	return nil
}
