package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// What is futile stays undecided, even if all trials that are left are on one side of the limit; and
// what is not can still be decided so.
func TestNoTrialsDecideWhatIsFutile(t *testing.T) {
	futile := 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 5))
		looks := Looks{Max: 7 + random.IntN(34), Spending: Front}
		if seed%2 == 1 {
			looks.Spending = Even
		}
		atMost, share := random.IntN(2) == 1, random.Float64()
		value := func() float64 {
			if random.Float64() < share {
				return 9 + random.Float64() // on the limit, too
			}
			return 10 + random.Float64()
		}
		var values []float64
		for len(values) < MinTrials {
			values = append(values, value())
		}
		d := DecideGate(values, looks, 10, atMost)
		for d.Outcome == Inconclusive && !d.Futile && len(values) < looks.Max {
			values = append(values, value())
			d = DecideGate(values, looks, 10, atMost)
		}
		if !d.Futile {
			continue
		}
		futile++
		for name, next := range map[string]func() float64{
			"all good":  func() float64 { return map[bool]float64{true: 1, false: 20}[atMost] },
			"all bad":   func() float64 { return map[bool]float64{true: 20, false: 1}[atMost] },
			"at random": value,
		} {
			more := slices.Clone(values)
			for len(more) < looks.Max {
				more = append(more, next())
				if e := DecideGate(more, looks, 10, atMost); e.Outcome != Inconclusive {
					t.Fatalf("seed %d: futile after %d of %d trials, and %s after %d, %s", seed, len(values), looks.Max, e.Outcome, len(more), name)
				}
			}
		}
	}
	if futile < 200 {
		t.Errorf("only %d of 2000 were futile", futile)
	}
}

// One value on the wrong side of twelve does not make a gate futile, nor does a fixed number of trials.
func TestWhatCanStillBeDecidedIsNotFutile(t *testing.T) {
	values := []float64{8, 8.1, 12, 8.2, 8, 8.3}
	if d := DecideGate(values, Looks{Max: 12, Spending: Front}, 10, true); d.Outcome != Inconclusive || d.Futile {
		t.Errorf("%+v", d)
	}
	if d := DecideGate([]float64{8, 12, 8, 12, 8, 12}, Looks{Max: 12}, 10, true); d.Futile {
		t.Errorf("%+v", d)
	}
}
