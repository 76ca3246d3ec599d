package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
)

// Direction is which way a metric gets better.
type Direction = result.Direction

// Directions.
const (
	Higher = result.Higher
	Lower  = result.Lower
)

// minTrials is the number of trials that a 95 % interval of a median needs.
const minTrials = 6

// metric compares one metric of two rows.
func metric(name string, first, second result.Estimate, maxRegression float64) Metric {
	m := Metric{Name: name, Unit: first.Unit, First: first, Second: second, Verdict: Inconclusive}
	m.Better, _ = result.Better(name)
	if first.Median > 0 && !first.AtLeast && !second.AtLeast {
		ratio := second.Median / first.Median
		m.Ratio = &ratio
	}
	if first.Bounds+second.Bounds > 0 {
		m.Reason = "trials that were too fast to be measured give only a lower bound: measure more, or larger files"
		return m
	}
	low, high, reason := interval(first, second)
	if reason != "" {
		m.Reason = reason
		return m
	}
	m.Low, m.High = &low, &high
	worst := 1 - maxRegression
	beyond, within := high < worst, low >= worst
	if m.Better == Lower {
		worst = 1 + maxRegression
		beyond, within = low > worst, high <= worst
	}
	switch {
	case beyond:
		m.Verdict = Regression
	case within:
		m.Verdict = NoWorse
	default:
		m.Reason = "the interval includes the limit: run more trials, or raise the limit"
	}
	return m
}

// ofOneKind returns m as it is if both numbers are of one kind. A number that a verdict
// invalidates, such as that of a cache, is not of the kind of one that stands, nor of one that
// another verdict invalidates.
func ofOneKind(m Metric, first, second result.Row) Metric {
	a, b := report.Invalid(first, m.Name), report.Invalid(second, m.Name)
	slices.Sort(a)
	slices.Sort(b)
	if slices.Equal(a, b) {
		return m
	}
	m.Verdict, m.Low, m.High = Inconclusive, nil, nil
	m.Reason = fmt.Sprintf("the two numbers are of different kinds: that of the first run %s, that of the second %s; see the verdicts", kind(a), kind(b))
	return m
}

func kind(invalid []string) string {
	if len(invalid) == 0 {
		return "stands"
	}
	return "is invalidated by " + strings.Join(invalid, " and ")
}

// interval returns the interval of the ratio of two medians, computed from
// their own intervals (see the package's documentation), or the reason why
// there is none.
func interval(first, second result.Estimate) (low, high float64, reason string) {
	for _, e := range []struct {
		which string
		result.Estimate
	}{{"the first run", first}, {"the second run", second}} {
		if e.N < minTrials || e.Low == nil || e.High == nil {
			return 0, 0, fmt.Sprintf("an interval needs %d trials, but %s has only %s", minTrials, e.which, suggest.Count(e.N, "trial"))
		}
	}
	if *first.Low <= 0 {
		return 0, 0, "the interval of the first run includes 0, so the ratio has no interval"
	}
	if *second.Low <= 0 {
		return *second.Low / *first.High, *second.High / *first.Low, ""
	}
	log := math.Log
	estimate := log(second.Median) - log(first.Median)
	down := math.Hypot(log(second.Median)-log(*second.Low), log(*first.High)-log(first.Median))
	up := math.Hypot(log(*second.High)-log(second.Median), log(first.Median)-log(*first.Low))
	return math.Exp(estimate - down), math.Exp(estimate + up), ""
}
