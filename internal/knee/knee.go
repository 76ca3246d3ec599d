package knee

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Width is how close the two ends of the answer are: 5 %.
const Width = 0.05

const (
	// apart is the logarithm of the distance from the limit from which one probe decides during
	// the search: 30 %, three times the noise of a p99.
	apart = 0.3
	// most is the number of probes of one rate after which its majority decides, or after
	// which a rate whose probes are mostly disturbed is given up.
	most = 5
	// givenUp is the number of disturbed probes of a rate that end the search.
	givenUp = 3
)

// Search is a range of rates, and how many probes it may take.
type Search struct {
	From, To int64
	Probes   int
}

// Probe is one trial at a rate.
type Probe struct {
	Rate int64
	// Over reports that the promise was not kept.
	Over bool
	// Ratio of the latency to its limit; 0: the rate was not achieved, whatever the latency.
	Ratio float64
	// Latency in seconds, for the curve; 0: there is none.
	Latency float64
	// Disturbed reports that something else than the storage may be why it was over.
	Disturbed bool
}

// Outcome of a search.
type Outcome string

// Outcomes of a search.
const (
	// Found: the knee is between Lower and Upper.
	Found Outcome = "Found"
	// BelowRange: the lowest rate is too much.
	BelowRange Outcome = "BelowRange"
	// AboveRange: the highest rate is not too much.
	AboveRange Outcome = "AboveRange"
	// Unfinished: the probes are used up; Lower and Upper are as far as it came.
	Unfinished Outcome = "Unfinished"
	// Disturbed: at a rate that had to be decided more probes were disturbed than not.
	Disturbed Outcome = "Disturbed"
)

// Answer is what to do next, or what was found.
type Answer struct {
	// Next rate to probe; 0: the search has ended.
	Next int64
	// Outcome, if it has.
	Outcome Outcome
	// Lower is the highest rate that kept the promise below Upper, the lowest that did not. 0: there
	// is none.
	Lower, Upper int64
}

// level is what is known of one rate.
type level struct {
	rate                  int64
	kept, over, disturbed int
	keptClear, overClear  bool
}

// decided reports whether the level counts during the search, and as what.
func (l level) decided() (over, ok bool) {
	lead := l.over - l.kept
	switch {
	case l.over > 0 && l.kept == 0 && l.overClear, lead >= 2:
		return true, true
	case l.kept > 0 && l.over == 0 && l.keptClear, lead <= -2:
		return false, true
	case l.over+l.kept >= most:
		return lead > 0, true
	}
	return false, false
}

// firm reports whether the level may be an end of the answer: it was probed twice or more.
func (l level) firm() bool { return max(l.over-l.kept, l.kept-l.over) >= 2 || l.over+l.kept >= most }

// Decide returns the next rate, or the answer. It depends on nothing but the probes, so that whoever knows
// them knows how the search goes on.
func (s Search) Decide(probes []Probe) Answer {
	levels := s.levels(probes)
	a := Answer{}
	for _, l := range levels {
		if over, ok := l.decided(); ok && over {
			a.Upper = l.rate
			break
		}
	}
	for _, l := range levels {
		if over, ok := l.decided(); ok && !over && (a.Upper == 0 || l.rate < a.Upper) {
			a.Lower = l.rate
		}
	}
	next, outcome := s.step(levels, a)
	switch l := levels.at(next); {
	case next == 0:
		a.Outcome = outcome
	case l.disturbed >= givenUp && l.disturbed > l.kept+l.over:
		a.Outcome = Disturbed
	case len(probes) >= s.Probes:
		a.Outcome = Unfinished
	default:
		a.Next = next
	}
	return a
}

// step is the rate that has to be probed, or 0 and what was found.
func (s Search) step(levels levels, a Answer) (int64, Outcome) {
	from, to := levels.at(s.From), levels.at(s.To)
	fromOver, fromKnown := from.decided()
	toOver, toKnown := to.decided()
	switch {
	case !fromKnown:
		return s.From, ""
	case fromOver && from.firm():
		return 0, BelowRange
	case fromOver:
		return s.From, ""
	case !toKnown:
		return s.To, ""
	case !toOver && !to.firm():
		return s.To, ""
	case a.Upper == 0: // nothing was too much, the highest rate included
		return 0, AboveRange
	}
	middle := int64(math.Round(math.Sqrt(float64(a.Lower) * float64(a.Upper))))
	if float64(a.Upper) > float64(a.Lower)*(1+Width) && middle > a.Lower && middle < a.Upper {
		return middle, ""
	}
	if !levels.at(a.Upper).firm() {
		return a.Upper, ""
	}
	if !levels.at(a.Lower).firm() {
		return a.Lower, ""
	}
	return 0, Found
}

type levels []level

func (all levels) at(rate int64) level {
	if i := slices.IndexFunc(all, func(l level) bool { return l.rate == rate }); i >= 0 {
		return all[i]
	}
	return level{rate: rate}
}

// levels are the rates that were probed, ascending. A disturbed probe that kept the promise all the
// same counts: nothing makes storage faster than it is.
func (s Search) levels(probes []Probe) levels {
	byRate := map[int64]*level{}
	for _, p := range probes {
		if p.Rate < s.From || p.Rate > s.To {
			continue
		}
		l := byRate[p.Rate]
		if l == nil {
			l = &level{rate: p.Rate}
			byRate[p.Rate] = l
		}
		far := p.Ratio <= 0 || math.Abs(math.Log(p.Ratio)) > apart
		switch {
		case p.Over && p.Disturbed:
			l.disturbed++
		case p.Over:
			l.over++
			l.overClear = l.overClear || far
		default:
			l.kept++
			l.keptClear = l.keptClear || far
		}
	}
	var out levels
	for _, l := range slices.SortedFunc(maps.Values(byRate), func(a, b *level) int { return cmp.Compare(a.rate, b.rate) }) {
		out = append(out, *l)
	}
	return out
}
