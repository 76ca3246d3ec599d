package stats

import (
	"math"
	"slices"
)

// MinTrials is the fewest trials that give a 95 % interval of a median: 2/2⁶ is 3 %.
const MinTrials = 6

// Spending says how often an interval is looked at while trials are still added, and so how
// much of its error each look may use.
type Spending int

// Ways of looking.
const (
	// Once: the ranks of a fixed number of trials, for a run that does not stop early. One that stops
	// because a limit is inside or outside of the interval errs in 13 % of runs of 6 to 30
	// trials; one that stops on the interval's width covers in 89 %, if trials correlate by 0.3.
	Once Spending = iota
	// Front looks after every trial, from the 6th on, at which 5/8 of the error are spent: six
	// trials on one side of a limit decide. It is for runs that stop early, for whatever reason.
	Front
	// Even looks after every trial and spends the error in proportion to the trials.
	Even
)

// Looks is when the interval of a median is looked at. It is fixed before the first trial.
type Looks struct {
	// Max is the number of trials after which the run ends anyway (trials.max).
	Max      int
	Spending Spending
	// ranks by the number of trials, if they are remembered.
	ranks []int
}

// remembered returns looks that do not compute the ranks again for each metric.
func (l Looks) remembered() Looks {
	if l.Spending != Once {
		l.ranks = l.spendingRanks()
	}
	return l
}

func (l Looks) spendingRanks() []int {
	if l.ranks != nil {
		return l.ranks
	}
	return SpendingRanks(l.Max, l.Spending == Front)
}

// Due reports whether the interval may be looked at after n trials.
func (l Looks) Due(n int) bool {
	if l.Spending == Once {
		return n >= MinTrials && (n%3 == 0 || n >= l.Max)
	}
	return n >= MinTrials
}

// Rank returns the k for which the k-th smallest and the k-th largest of n trials enclose the
// population's median with 95 % confidence, at this look and all earlier ones together. 0: there
// are too few trials.
func (l Looks) Rank(n int) int {
	if l.Spending == Once {
		return rank(n, Confidence)
	}
	// After Max nothing is left to spend: the ranks stay, which is as valid.
	return l.spendingRanks()[min(n, max(l.Max, MinTrials))]
}

// next returns the smallest number of trials from n on that has a larger rank than one fewer has.
// From there on, up to the next step, further trials only widen the interval.
func (l Looks) next(n int) int {
	n = max(n, MinTrials)
	if l.Spending == Once {
		for m := n; m < n+4; m++ { // a rank steps every second or third trial
			if rank(m, Confidence) > rank(m-1, Confidence) {
				return m
			}
		}
		return n
	}
	ranks := l.spendingRanks()
	for m := n; m < len(ranks); m++ {
		if ranks[m] > ranks[m-1] {
			return m
		}
	}
	return n
}

// SpendingRanks returns the rank for each number of trials up to highest, so that the intervals
// at all numbers of trials together miss the median with at most 5 %: the sign test with exact
// alpha spending. The number of values below the median is a random walk. At each n, the walks
// that leave [k, n−k] are those that are wrong there for the first time, and k is the largest for
// which all walks that have left so far have at most the share that may be spent by then.
// front: 5/8 at the 6th trial, the rest in proportion; else in proportion from the first.
func SpendingRanks(highest int, front bool) []int {
	ranks := make([]int, max(highest, MinTrials)+1)
	walks := []float64{1} // share of the walks with s values below, among those that never left
	spent := 0.0
	for n := 1; n < len(ranks); n++ {
		stepped := make([]float64, n+1)
		for s, share := range walks {
			stepped[s] += share / 2
			stepped[s+1] += share / 2
		}
		walks = stepped
		if n < MinTrials {
			continue
		}
		allowed := (1 - Confidence) * spendable(n, highest, front)
		k, leaving := 0, 0.0
		for k < n/2 {
			more := leaving + walks[k] + walks[n-k]
			if spent+more > allowed+1e-12 {
				break
			}
			leaving = more
			k++
		}
		for s := range k {
			walks[s], walks[n-s] = 0, 0
		}
		spent += leaving
		ranks[n] = k
	}
	return ranks
}

// spendable is the share of the error that may be spent by the n-th trial.
func spendable(n, highest int, front bool) float64 {
	if n >= highest {
		return 1
	}
	if front {
		const first = 0.625 // of 5 %: 2/2⁶
		return first + (1-first)*float64(n-MinTrials)/float64(highest-MinTrials)
	}
	return float64(n) / float64(highest)
}

// Interval is a median and its interval, or another estimate and its.
type Interval struct {
	// N is the number of trials, volumes or blocks that it is made of.
	N                 int
	Median, Low, High float64
	// OK reports that there is an interval. If not, Low and High mean nothing.
	OK bool
	// Autocorrelation of one value with the next, in the order in which they were measured.
	Autocorrelation float64
	// Widened reports that the interval was widened because of it.
	Widened bool
}

// maxAutocorrelation is the lag-1 autocorrelation above which an interval is widened. As few values as
// a run has tell it badly, so it is low: with 0.2, intervals of a true 0.3 cover in less than 93 %.
const maxAutocorrelation = 0.1

// MedianOf returns the median of trials of one volume, in the order in which they ran, with its
// interval: order statistics, which assume nothing of the distribution, widened if the trials are
// autocorrelated. It speaks for this volume in these minutes, whatever the number of trials.
func MedianOf(values []float64, looks Looks) Interval {
	i := Interval{N: len(values), Median: Median(values), Autocorrelation: lag1(values)}
	k := looks.Rank(len(values))
	if k == 0 {
		return i
	}
	s := slices.Sorted(slices.Values(values))
	i.Low, i.High, i.OK = s[k-1], s[len(s)-k], true
	return widen(i)
}

// widen widens an interval of autocorrelated values by what autocorrelation r makes of the
// standard error, the root of (1+r)/(1−r). As few values underestimate r, (1+3r)/n is added
// (Marriott and Pope). With r up to 0.3, intervals of 6 to 30 values then cover in 93 % to 96 %.
func widen(i Interval) Interval {
	if i.Autocorrelation <= maxAutocorrelation {
		return i
	}
	r := i.Autocorrelation
	r = min(max(r+(1+3*r)/float64(i.N), 0), 0.8)
	by := math.Sqrt((1 + r) / (1 - r))
	if i.Low > 0 {
		i.Low = i.Median * math.Pow(i.Low/i.Median, by)
		i.High = i.Median * math.Pow(i.High/i.Median, by)
	} else {
		i.Low = i.Median - (i.Median-i.Low)*by
		i.High = i.Median + (i.High-i.Median)*by
	}
	i.Widened = true
	return i
}

// lag1 is the autocorrelation of one value with the next, of their logarithms if all are
// positive; 0 for values that do not differ.
func lag1(values []float64) float64 {
	y, ok := logs(values)
	if !ok {
		y = values
	}
	mean := 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	var products, squares float64
	for i, v := range y {
		squares += (v - mean) * (v - mean)
		if i > 0 {
			products += (v - mean) * (y[i-1] - mean)
		}
	}
	if !(squares > 0) {
		return 0
	}
	return products / squares
}

// logs returns the natural logarithms, and false if a value is not positive and finite.
func logs(values []float64) ([]float64, bool) {
	out := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) || math.IsInf(v, 0) {
			return nil, false
		}
		out[i] = math.Log(v)
	}
	return out, true
}

// HalfWidth is half the width of the median's interval as a share of the median: 0.05 is ±5 %. It is
// false if there is no interval, or the median is not positive.
func HalfWidth(values []float64, looks Looks) (float64, bool) {
	i := MedianOf(values, looks)
	if !i.OK || !(i.Median > 0) {
		return 0, false
	}
	return (i.High - i.Low) / 2 / i.Median, true
}

// more is how many trials to add to n so that an interval is narrower by a ratio, with odds as a
// factor; rounded up to a number at which the rank steps.
func more(n int, ratio, odds float64, looks Looks) int {
	needed := math.Ceil(odds * float64(n) * ratio * ratio)
	if needed > 1e6 {
		return 1e6
	}
	return max(looks.next(max(int(needed), n+1))-n, 1)
}
