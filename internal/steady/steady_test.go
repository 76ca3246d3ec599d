package steady

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// until runs at most 25 rounds of a curve, and returns how many it took to be steady; 0: it never was.
func until(curve func(round int) float64) int {
	var rates []float64
	for round := range 25 {
		rates = append(rates, curve(round))
		if Reached(rates) {
			return len(rates)
		}
	}
	return 0
}

func TestRoundsGoOnUntilTheRateIsSteady(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(share float64) float64 { return 1 + share*(2*random.Float64()-1) }
	for name, c := range map[string]struct {
		curve       func(round int) float64
		least, most int
	}{
		"a constant":              {func(int) float64 { return 1000 }, Rounds, Rounds},
		"little noise":            {func(int) float64 { return 1000 * noise(0.03) }, Rounds, Rounds},
		"a fresh SSD that falls":  {func(i int) float64 { return (20_000 + 80_000*math.Exp(-float64(i)/3)) * noise(0.02) }, 12, 20},
		"a cache that fills up":   {func(i int) float64 { return map[bool]float64{true: 90_000, false: 15_000}[i < 4] * noise(0.02) }, 9, 11},
		"a drift that never ends": {func(i int) float64 { return 1000 * math.Pow(0.95, float64(i)) }, 0, 0},
		"one that rises":          {func(i int) float64 { return 1000 * math.Pow(1.05, float64(i)) }, 0, 0},
		"every other round":       {func(i int) float64 { return float64(1000 + 300*(i%2)) }, 0, 0},
		"nothing at all":          {func(int) float64 { return 0 }, 0, 0},
	} {
		if got := until(c.curve); got < c.least || got > c.most {
			t.Errorf("%s: steady after %d rounds, want %d to %d", name, got, c.least, c.most)
		}
	}
}

// The numbers are computed by hand.
func TestTheWindowIsOfTheLastFiveRounds(t *testing.T) {
	for name, c := range map[string]struct {
		rates []float64
		want  Window
		ok    bool
	}{
		"four rounds":      {rates: []float64{1, 1, 1, 1}},
		"no rates":         {rates: []float64{0, 0, 0, 0, 0}},
		"not a number":     {rates: []float64{1, 1, math.NaN(), 1, 1}},
		"without end":      {rates: []float64{1, 1, math.Inf(1), 1, 1}},
		"a line":           {rates: []float64{9000, 95, 97.5, 100, 102.5, 105}, want: Window{Range: 0.1, Drift: 0.1}, ok: true},
		"a line downwards": {rates: []float64{105, 102.5, 100, 97.5, 95}, want: Window{Range: 0.1, Drift: 0.1}, ok: true},
		"one in the midst": {rates: []float64{90, 90, 140, 90, 90}, want: Window{Range: 0.5}, ok: true},
	} {
		got, ok := Last(c.rates)
		if ok != c.ok {
			t.Errorf("%s: ok is %t", name, ok)
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestBothLimitsAreInclusive(t *testing.T) {
	for w, want := range map[Window]bool{
		{Range: 0.2, Drift: 0.1}: true, {Range: 0.21, Drift: 0.1}: false, {Range: 0.2, Drift: 0.11}: false, {}: true,
	} {
		if got := w.Steady(); got != want {
			t.Errorf("%+v: %t", w, got)
		}
	}
}
