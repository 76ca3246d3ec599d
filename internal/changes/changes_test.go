package changes

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// noisy is a level with a little noise of a fixed seed.
func noisy(seed uint64, levels ...float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float64, len(levels))
	for i, v := range levels {
		out[i] = v * (1 + 0.01*r.NormFloat64())
	}
	return out
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func concat(parts ...[]float64) (all []float64) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// Those of Otava's own tests.
func TestDetectEqualsOtavasExamples(t *testing.T) {
	for name, c := range map[string]struct {
		series []float64
		want   []int
	}{
		"one step": {[]float64{1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49}, []int{10}},
		"two steps": {[]float64{1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49,
			0.50, 0.49, 0.52, 0.80, 0.81, 0.79, 0.80, 0.81, 0.79, 0.80}, []int{10, 23}},
		"constant":          {repeat(5, 30), nil},
		"a single number":   {[]float64{1}, nil},
		"nothing":           {nil, nil},
		"two other numbers": {[]float64{1, 9}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, p := range Detect(c.series) {
				got = append(got, p.Index)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTell(t *testing.T) {
	type told struct {
		Kind        Kind
		Index, Runs int
		Stands      bool
	}
	ramp := make([]float64, 40)
	for i := range ramp {
		ramp[i] = 100 - float64(i)
	}
	for name, c := range map[string]struct {
		series   []float64
		want     []told
		tooShort bool
	}{
		"five runs are too few":            {series: repeat(1, 5), tooShort: true},
		"nothing changes":                  {series: noisy(1, repeat(100, 20)...)},
		"the last run is slower":           {series: noisy(2, concat(repeat(100, 9), []float64{50})...), want: []told{{Step, 9, 1, true}}},
		"two runs are slower":              {series: noisy(3, concat(repeat(100, 9), repeat(50, 2))...), want: []told{{Step, 9, 2, true}}},
		"one run in the middle was slower": {series: noisy(4, concat(repeat(100, 9), []float64{50}, repeat(100, 6))...)},
		"a change that is small":           {series: concat(repeat(100, 10), repeat(101, 10))},
		"too early":                        {series: noisy(5, concat(repeat(100, 4), repeat(50, 10))...)},
		"slower, and well again":           {series: noisy(6, concat(repeat(100, 9), repeat(50, 6), repeat(100, 6))...), want: []told{{Step, 9, 6, false}, {Step, 15, 6, true}}},
		"a return needs a second run":      {series: noisy(7, concat(repeat(100, 9), repeat(50, 6), repeat(100, 1))...), want: []told{{Step, 9, 6, true}, {Step, 15, 1, true}}},
		"better in part only":              {series: noisy(8, concat(repeat(100, 9), repeat(50, 6), repeat(70, 6))...), want: []told{{Step, 9, 6, true}, {Step, 15, 6, true}}},
		"a drift is told once, as one":     {series: noisy(9, ramp...), want: []told{{Trend, 0, 0, true}}},
		"no number is negative infinity":   {series: concat(repeat(0, 8), repeat(1, 8)), want: []told{{Step, 8, 8, true}}},
		"numbers of which some are equal":  {series: concat(repeat(5, 10), repeat(7, 10)), want: []told{{Step, 10, 10, true}}},
		"an empty series is short as well": {tooShort: true},
		"worse, well, and worse again":     {series: noisy(10, concat(repeat(100, 12), repeat(50, 12), repeat(100, 12), repeat(20, 12))...), want: []told{{Step, 12, 12, true}, {Step, 24, 12, false}, {Step, 36, 12, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			all, tooShort := Tell(c.series, 0.03)
			var got []told
			for _, ch := range all {
				if ch.Kind == Trend { // where a drift begins is as Otava cuts it
					ch.Index, ch.Runs = 0, 0
				}
				got = append(got, told{ch.Kind, ch.Index, ch.Runs, ch.Stands})
			}
			if diff := cmp.Diff(c.want, got); diff != "" || tooShort != c.tooShort {
				t.Errorf("too short %t; (-want +got):\n%s", tooShort, diff)
			}
		})
	}
}

func TestSumIsNumPys(t *testing.T) {
	// 0.1 added up in NumPy's order, as NumPy prints it.
	for n, want := range map[int]float64{7: 0.7, 10: 1.0, 130: 13.0, 300: 30.0} {
		if got := sum(repeat(0.1, n)); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d: %v, want about %v", n, got, want)
		}
	}
}

// A status is computed at the end of every run.
func BenchmarkDetect50(b *testing.B) {
	series := noisy(1, concat(repeat(100, 20), repeat(80, 20), repeat(100, 10))...)
	for b.Loop() {
		Detect(series)
	}
}
