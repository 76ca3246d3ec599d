package paired

import (
	"math/rand/v2"
	"testing"
)

func TestTheIntervalHoldsTheRatioAsOftenAsItSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const rounds, truth = 200, 1.1
	held := 0
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
	}
	if held < rounds*90/100 {
		t.Errorf("the interval holds the ratio in %d of %d rounds", held, rounds)
	}
}
