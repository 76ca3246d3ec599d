package stats

import "math"

// GateOutcome is what a gate's numbers show.
type GateOutcome string

// Outcomes of a gate.
const (
	// Met: the whole interval is within the limit.
	Met GateOutcome = "Met"
	// Missed: the whole interval is beyond it.
	Missed GateOutcome = "Missed"
	// Inconclusive: the interval contains the limit, or there is none.
	Inconclusive GateOutcome = "Inconclusive"
)

// GateDecision is the decision on one gate.
type GateDecision struct {
	Outcome  GateOutcome
	Interval Interval
	// MoreTrials and MoreVolumes are about how many more would decide with 80 % odds, if the
	// median stays where it is: one of them, if the outcome is Inconclusive. Both 0: the median
	// is at the limit.
	MoreTrials, MoreVolumes int
	// AtLimit reports that the median is within 1 % of the limit, so that no reasonable number
	// of trials decides.
	AtLimit bool
	// Narrower is how many times narrower the interval must be to decide, if the outcome is
	// Inconclusive; 0: nothing can be said.
	Narrower float64
	// BeyondMax reports that MoreTrials exceeds what the looks allow.
	BeyondMax bool
	// Futile reports that no trials up to looks.Max, whatever they measure, can decide.
	Futile bool
}

const (
	// odds80 turns a number of trials at which a decision is as likely as not to one with 80 %
	// odds: ((1.96+0.84)/1.96)².
	odds80 = 2.04
	// relevant is the smallest distance from a limit, in logarithms, that trials can resolve.
	relevant = 0.01
)

// DecideGate decides a gate from the trials of one volume, in the order in which they ran: whether
// their median is at most (or, if atMost is false, at least) the limit, which is within. It may be
// asked after every trial for which looks is Due; with Front or Even, all of the decisions together
// are wrong in at most 5 % of runs. Values, as p99s, are one per trial.
func DecideGate(values []float64, looks Looks, limit float64, atMost bool) GateDecision {
	d := GateDecision{Interval: MedianOf(values, looks)}
	d.Outcome = within(d.Interval, limit, atMost)
	n := len(values)
	switch {
	case d.Outcome != Inconclusive:
		return d
	case !d.Interval.OK:
		first := looks.next(n + 1)
		if looks.Spending == Once {
			first = MinTrials
		}
		d.MoreTrials = first - n
	default:
		d.Futile = futile(values, looks, limit, atMost)
		ratio, ok := blocked(d.Interval, limit)
		if !ok {
			d.AtLimit = true
			return d
		}
		d.Narrower, d.MoreTrials = ratio, more(n, ratio, odds80, looks)
	}
	d.BeyondMax = n+d.MoreTrials > looks.Max
	return d
}

// futile reports that the values on each side of the limit are too many for any look that is left: with
// rank k, fewer than k values on one side decide, ranks do not fall, and values do not go away.
func futile(values []float64, looks Looks, limit float64, atMost bool) bool {
	if looks.Spending == Once || len(values) >= looks.Max {
		return false
	}
	good := 0
	for _, v := range values {
		if atMost && v <= limit || !atMost && v >= limit {
			good++
		}
	}
	return min(good, len(values)-good) >= looks.Rank(looks.Max)
}

// DecideVolumeGate decides a gate for the class of volumes, from the trials of at least 3 of
// them. It may be asked once, when all volumes of the run have been measured.
func DecideVolumeGate(perVolume [][]float64, limit float64, atMost bool) GateDecision {
	v := VolumeInterval(perVolume)
	d := GateDecision{Interval: v.Interval}
	d.Outcome = within(v.Interval, limit, atMost)
	switch {
	case d.Outcome != Inconclusive:
	case !v.OK:
		d.MoreVolumes = max(MinVolumes-v.N, 1)
	default:
		ratio, ok := blocked(v.Interval, limit)
		if !ok {
			d.AtLimit = true
			return d
		}
		needed := math.Ceil(float64(v.N) * ratio * ratio)
		d.MoreVolumes = max(int(min(needed, 1e6))-v.N, 1)
	}
	return d
}

// within compares an interval with a limit.
func within(i Interval, limit float64, atMost bool) GateOutcome {
	switch {
	case !i.OK:
		return Inconclusive
	case atMost && i.High <= limit, !atMost && i.Low >= limit:
		return Met
	case atMost && i.Low > limit, !atMost && i.High < limit:
		return Missed
	default:
		return Inconclusive
	}
}

// blocked returns how many times narrower the interval would have to be on the side of the limit,
// in logarithms where all is positive. It is false if the median is at the limit.
func blocked(i Interval, limit float64) (float64, bool) {
	median, low, high := i.Median, i.Low, i.High
	if low > 0 && limit > 0 {
		median, low, high, limit = math.Log(median), math.Log(low), math.Log(high), math.Log(limit)
	} else {
		scale := max(math.Abs(median), math.Abs(limit))
		if scale == 0 {
			return 0, false
		}
		median, low, high, limit = median/scale, low/scale, high/scale, limit/scale
	}
	distance := math.Abs(limit - median)
	if distance < relevant {
		return 0, false
	}
	side := high - median // the bound that must pass the limit
	if limit < median {
		side = median - low
	}
	return side / distance, true
}
