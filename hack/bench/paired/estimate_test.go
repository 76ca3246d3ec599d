package paired

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTheIntervalHoldsTheRatioAsOftenAsItSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const rounds, truth = 200, 1.1
	held, heldByRatios, heldByMean := 0, 0, 0
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
		if e := MeanOfRatios(a, b); e.Low <= truth && truth <= e.High {
			heldByMean++
		}
	}
	if min(held, heldByRatios, heldByMean) < rounds*90/100 {
		t.Errorf("the intervals hold the ratio in %d, %d and %d of %d rounds", held, heldByRatios, heldByMean, rounds)
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

func TestTheMeanOfRatiosIsThatOfStudent(t *testing.T) {
	// Logarithms of -d, 0 and d have a deviation of d, and t is 4.3027 with two degrees of freedom.
	const d = 0.01
	e := MeanOfRatios([]float64{math.Exp(-d), 1, math.Exp(d)}, []float64{1, 1, 1})
	if want := 4.30265 * d / math.Sqrt(3); math.Abs(e.Ratio-1) > 1e-9 || math.Abs(math.Log(e.High)-want) > 1e-6 || math.Abs(math.Log(e.Low)+want) > 1e-6 {
		t.Errorf("%+v, want 1 and logarithms of ±%g", e, want)
	}
	if e := MeanOfRatios([]float64{2}, []float64{1}); e.Ratio != 2 || !math.IsInf(e.High, 1) || e.Low != 0 {
		t.Errorf("%+v of one pair", e)
	}
}
