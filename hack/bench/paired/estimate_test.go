package paired

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTheIntervalHoldsTheRatioAsOftenAsItSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const rounds, truth = 200, 1.1
	held, heldByRatios := 0, 0
	for range rounds {
		var a, b []float64
		for range 40 {
			drift := 1 + r.Float64() // falls on both of a pair
			a = append(a, truth*drift*(1+0.05*r.NormFloat64()))
			b = append(b, drift*(1+0.05*r.NormFloat64()))
		}
		if e := RatioOfMedians(a, b); e.Low <= truth && truth <= e.High {
			held++
		}
		if e := MedianOfRatios(a, b); e.Low <= truth && truth <= e.High {
			heldByRatios++
		}
	}
	if min(held, heldByRatios) < rounds*90/100 {
		t.Errorf("the intervals hold the ratio in %d and %d of %d rounds", held, heldByRatios, rounds)
	}
}

func TestADriftDoesNotWidenTheMedianOfRatios(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var a, b []float64
	for range 30 {
		drift := 1 + r.Float64()
		a = append(a, drift*(1+0.01*r.NormFloat64()))
		b = append(b, drift*(1+0.01*r.NormFloat64()))
	}
	if e := MedianOfRatios(a, b); e.HalfWidth() > 0.015 {
		t.Errorf("%+v: the two of a pair differ by 1.4 %%", e)
	}
	if e := MedianOfRatios(a[:5], b[:5]); !math.IsInf(e.High, 1) {
		t.Errorf("%+v of five pairs", e)
	}
}
