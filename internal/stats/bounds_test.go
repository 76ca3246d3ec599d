package stats

import (
	"math/rand/v2"
	"slices"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func measuredAs(values ...float64) []result.Metric { // a negative one is a bound
	var out []result.Metric
	for _, v := range values {
		out = append(out, result.Metric{Unit: result.PerSecond, Value: max(v, -v), AtLeast: v < 0})
	}
	return out
}

func TestAMedianIsABoundOnlyIfATooFastTrialCanMoveIt(t *testing.T) {
	for name, c := range map[string]struct {
		metrics []result.Metric
		median  float64
		bounds  int
		atLeast bool
		high    bool
	}{
		"none":                             {measuredAs(1, 2, 3, 4, 5, 6), 3.5, 0, false, true},
		"above the median":                 {measuredAs(1, 2, 3, 4, 5, -9), 3.5, 1, false, false},
		"above the middle of an odd count": {measuredAs(1, 2, -3), 2, 1, false, false},
		"in the middle of an even count":   {measuredAs(1, 2, -3, 4), 2.5, 1, true, false},
		"below the median":                 {measuredAs(-1, 2, 3), 2, 1, true, false},
		"as large as the median":           {measuredAs(1, 2, -2), 2, 1, true, false},
		"half of them":                     {measuredAs(1, 2, 3, -9, -9, -9), 6, 3, true, false},
		"all of them":                      {measuredAs(-5, -5), 5, 2, true, false},
	} {
		e := bounded(c.metrics, Looks{})
		if e.Median != c.median || e.Bounds != c.bounds || e.AtLeast != c.atLeast || (e.High != nil) != c.high || e.N != len(c.metrics) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// Whatever the values behind the bounds: what is called exact is, and what is a bound is not above.
func TestBoundsHoldForAllTruths(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	exact, atLeast := 0, 0
	for range 20_000 {
		var seen []result.Metric
		var truth []float64
		for range 1 + random.IntN(12) {
			v := float64(random.IntN(20))
			m := result.Metric{Value: v, AtLeast: random.IntN(4) == 0}
			if m.AtLeast {
				v += float64(random.IntN(40))
			}
			seen, truth = append(seen, m), append(truth, v)
		}
		if !slices.ContainsFunc(seen, func(m result.Metric) bool { return m.AtLeast }) {
			continue // it may be widened
		}
		e, is := bounded(seen, Looks{}), interval(truth)
		switch {
		case e.AtLeast && e.Median > is.Median, !e.AtLeast && e.Median != is.Median:
			t.Fatalf("%+v of %+v: the median is %v", e, seen, is.Median)
		case e.Low != nil && *e.Low > *is.Low, e.High != nil && *e.High != *is.High:
			t.Fatalf("%+v of %+v: the interval is %v to %v", e, seen, *is.Low, *is.High)
		}
		if e.AtLeast {
			atLeast++
		} else if e.Bounds > 0 {
			exact++
		}
	}
	if exact < 1000 || atLeast < 1000 {
		t.Errorf("%d medians with bounds were exact and %d bounds", exact, atLeast)
	}
}

func TestAPairWithABoundHasNoRatioAndIsNotDropped(t *testing.T) {
	values := map[string]*pairs{}
	for repeat, m := range []result.Metric{{Value: 10}, {Value: 12, AtLeast: true}} {
		before, after := placed{place: 2 * repeat}, placed{place: 2*repeat + 1}
		before.Repeat, after.Repeat = repeat+1, repeat+1
		before.Metrics, after.Metrics = result.Metrics{"read.bandwidth": {Value: 10}}, result.Metrics{"read.bandwidth": m}
		addPair(values, before, after)
	}
	if c := values["read.bandwidth"].change(""); c.Pairs != 2 || c.Bounds != 1 || c.Ratio != nil || c.Order != nil || c.Variant != 11 {
		t.Errorf("%+v", c)
	}
}
