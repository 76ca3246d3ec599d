package stopping

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// The share that a worker was started with counts, not that of the plan.
func TestAWorkerSpendsItsShare(t *testing.T) {
	for name, c := range map[string]struct {
		share  *time.Duration
		budget float64
		want   int // trials of 10 s
	}{
		"none: the plan's":            {nil, 120, 12},
		"more than the plan's":        {new(185 * time.Second), 120, 18},
		"less":                        {new(95 * time.Second), 120, 9},
		"nothing: the least trials":   {new(time.Duration(0)), 120, 6},
		"of a plan without a budget":  {new(95 * time.Second), 0, 30},
		"more than all trials take":   {new(time.Hour), 120, 30},
		"less than the least trials":  {new(time.Second), 120, 6},
		"exactly what a step takes":   {new(90 * time.Second), 120, 9},
		"a little less than it takes": {new(89_999 * time.Millisecond), 120, 6},
	} {
		t.Run(name, func(t *testing.T) {
			p := single(trial.Stop{Min: 6, Max: 30, HalfWidth: 0.001, BudgetSeconds: c.budget}, "w")
			random := rand.New(rand.NewPCG(5, 6))
			var done []result.TrialSummary
			for {
				d := Decide(p, "v", c.share, done)
				if (d.Next == nil) != Complete(p, "v", c.share, done) {
					t.Fatalf("after %d trials, it is not decided whether they are all", len(done))
				}
				if d.Next == nil {
					break
				}
				done = append(done, measured(*d.Next, 1000*math.Exp(0.3*random.NormFloat64())))
			}
			if len(done) != c.want {
				t.Errorf("%d trials, want %d", len(done), c.want)
			}
		})
	}
}

func TestAShareIsAnEqualPartOfWhatIsLeft(t *testing.T) {
	p := &trial.Plan{Stop: &trial.Stop{BudgetSeconds: 100}, Workers: make([]trial.Worker, 3)}
	for name, c := range map[string]struct {
		spent time.Duration
		left  int
		want  time.Duration
	}{
		"the first":             {0, 3, 100 * time.Second},
		"nothing was left":      {100 * time.Second, 2, 100 * time.Second},
		"half was left":         {50 * time.Second, 2, 125 * time.Second},
		"the last has the rest": {60 * time.Second, 1, 240 * time.Second},
		"all is spent":          {300 * time.Second, 1, 0},
		"more is spent":         {400 * time.Second, 1, 0},
		"a part of a second":    {0, 7, 42_857 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Share(p, c.spent, c.left); got == nil || *got != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
	p.Stop.BudgetSeconds = math.MaxFloat64 / 4
	if got := Share(p, 0, 3); *got <= 0 {
		t.Errorf("of an endless budget it is %s", got)
	}
	if p.Stop = nil; Share(p, 0, 3) != nil {
		t.Error("a plan that runs all of its trials has shares")
	}
}
