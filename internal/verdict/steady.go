package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/steady"
)

const (
	// shortestRound is how long a round is at least, in seconds. In less, what a machine does
	// besides, such as ending what came before, is a large share.
	shortestRound = 1
	// fewest is how many intervals tell anything about a change.
	fewest = 10
	// most is how many values are tested: those of longer trials are means of several intervals.
	most = 64
	// enoughBatches is how many values are left when neighbours are joined because they depend on
	// each other.
	enoughBatches = 20
	// dependent is the correlation of neighbours from which on they are joined.
	dependent = 0.2
	// shuffles of the values tell how often chance alone does as much.
	shuffles = 999
	// chance is how often each of two tests may be wrong about noise, and trendLimit what that is in
	// standard deviations of a normal distribution, both ways.
	chance     = 0.005
	trendLimit = 2.81
	// stall is how long an operation stands still, in seconds and as a share of its time, before
	// that is said. Of a second, nine intervals of a tenth show nothing at all, which are hardly ever exactly that long.
	stallSeconds, stallShare = 0.85, 0.05
	// stallMissing is which share of what it usually completes in that time must be missing around an operation that took
	// as long. It is not all, as more is done before and after.
	stallMissing = 0.7
)

// notSteady: the rate changed while the trial ran, so that its mean is that of no state of the
// storage.
func notSteady(f *Facts) []result.Verdict {
	if !f.oneAfterAnother() {
		return nil
	}
	var out []result.Verdict
	for _, op := range f.operations() {
		s := f.series(op)
		v, ok := s.stalled(f.slowest())
		if !ok {
			v, ok = s.changed()
		}
		if ok {
			v.Name, v.Effect, v.Operation = NotSteady, result.Qualifies, op
			out = append(out, v)
		}
	}
	return out
}

// neverSteady: the rounds before the first trial did not become steady, so that all trials of the
// workload may be of a storage that still changes.
func neverSteady(f *Facts) []result.Verdict {
	p := f.Precondition
	if p == nil || p.Steady == nil || *p.Steady || len(p.Rates) < steady.Rounds {
		return nil
	}
	v := result.Verdict{
		Name: NotSteady, Effect: result.Qualifies,
		Sentence: fmt.Sprintf("The storage was not steady when the first trial began: no operation completed in the last %d of %d rounds before it.", steady.Rounds, p.Rounds),
		Settle:   "Raise precondition.maxRounds or the length of a trial, or find out what changes the rate.",
	}
	window, ok := steady.Last(p.Rates)
	if !ok {
		v.Evidence = evidence(number{"rounds", result.Count, float64(p.Rounds)})
		return []result.Verdict{v}
	}
	v.Sentence = fmt.Sprintf("The storage was not steady when the first trial began: in the last %d of %d rounds before it, %s lay %s of its mean apart, and a line through it moved by %s.",
		steady.Rounds, p.Rounds, p.Metric, percent(window.Range), percent(window.Drift))
	v.Evidence = evidence(
		number{"rounds", result.Count, float64(p.Rounds)},
		number{"rounds.first", p.Unit, p.Rates[0]},
		number{"rounds.last", p.Unit, p.Rates[len(p.Rates)-1]},
		number{"rounds.range", result.Ratio, window.Range},
		number{"rounds.slope", result.Ratio, window.Drift},
	)
	return []result.Verdict{v}
}

// oneAfterAnother reports whether the workload does the same all the time: groups of jobs, or clones
// that end when they have done their part, change the rate themselves, and so does a search
// for a depth.
func (f *Facts) oneAfterAnother() bool {
	if f.Measurement.PartsOnly {
		return false
	}
	input := f.Measurement.Input
	switch {
	case f.row != nil && f.Samples == nil: // of a time in which other jobs ran, too
		return f.row.whole.atOnce()
	case input == "":
		return true // an engine of ours
	case latencyTarget.MatchString(input):
		return false
	case f.threads() == 1:
		return true
	}
	return f.atOnce()
}

// slowest is how long the slowest operation took, in seconds.
func (f *Facts) slowest() float64 {
	most := 0.0
	for _, op := range f.operations() {
		most = max(most, f.value(op+".latency.max"))
	}
	return most
}

// stalled finds the longest time in which nothing completed. Slowest is how long one operation took.
func (s series) stalled(slowest float64) (v result.Verdict, ok bool) {
	usual := median(s.rates)
	what, longest, at, now := "Nothing", 0.0, 0.0, 0.0
	for i, rate := range s.rates {
		if now += s.lengths[i]; rate > 0 {
			now = 0
		}
		if now > longest {
			longest, at = now, s.ends[i]-now
		}
	}
	if longest < slowest {
		if begin, ok := s.missing(slowest); ok {
			what, longest, at = "Hardly anything", slowest, begin
		}
	}
	span := s.span()
	if slowest > 0 && slowest < 0.5*longest {
		return v, false // no operation waited: the workload itself paused
	}
	if longest < stallSeconds || longest < stallShare*span || usual*longest < fewest {
		return v, false // of a slow workload, a pause is no surprise
	}
	return result.Verdict{
		Sentence: fmt.Sprintf("%s completed for %.1f s, %.1f s after the start.", what, longest, at),
		Settle:   "Look at the samples, and find out what the storage waited for.",
		Evidence: evidence(
			number{"stall", result.Seconds, longest},
			number{"at", result.Seconds, at},
			number{"usual", result.PerSecond, usual},
		),
	}, true
}

// missing finds the intervals from which as much work is missing as is usually done in so many seconds, and returns since when.
// Where an interval is as long as a stall, something completes in each; and beside one slow operation, others may go on.
func (s series) missing(stall float64) (begin float64, ok bool) {
	usual, most := median(s.rates), 0.0
	for i, rate := range s.rates {
		if rate > 0.95*usual {
			continue // it does not begin here
		}
		lost, within := 0.0, 0.0
		for j := i; j < len(s.rates) && within < stall+s.lengths[i]; j++ {
			within += s.lengths[j]
			lost += max(0, usual-s.rates[j]) * s.lengths[j]
		}
		if lost > most {
			most, begin = lost, s.ends[i]-s.lengths[i]*(1-rate/usual)
		}
	}
	return begin, most >= stallMissing*stall*usual
}

// changed finds a drift or a step that is large enough to matter, and that chance does not explain.
func (s series) changed() (v result.Verdict, ok bool) {
	if len(s.rates) < fewest || s.span() < 0.99*steady.Rounds*shortestRound { // the edges are left out
		return v, false
	}
	rounds := inRounds(s.rates)
	window, ok := steady.Last(rounds)
	if !ok || window.Steady() || aState(rounds) {
		return v, false
	}
	values, joined := independent(s.rates)
	at, _ := stepOf(values)
	if at == 0 || !beyondChance(values) {
		return v, false
	}
	before, after := mean(values[:at]), mean(values[at:])
	when := s.ends[min(at*joined, len(s.ends))-1]
	return result.Verdict{
		Sentence: fmt.Sprintf("The rate was not steady: %s per second in the first %.1f s, and %s after that.", report.Number(before), when, report.Number(after)),
		Settle:   "Find out what changed then; or measure for longer, with ramp_time, until the rate is steady.",
		Evidence: evidence(
			number{"before", result.PerSecond, before},
			number{"after", result.PerSecond, after},
			number{"at", result.Seconds, when},
			number{"rounds.range", result.Ratio, window.Range},
			number{"rounds.slope", result.Ratio, window.Drift},
		),
	}, true
}

// inRounds are the means of five equal rounds, for the test of SNIA's PTS, where they take a minute each.
func inRounds(rates []float64) []float64 {
	const rounds = steady.Rounds
	means := make([]float64, rounds)
	for i := range means {
		means[i] = mean(rates[i*len(rates)/rounds : (i+1)*len(rates)/rounds])
	}
	return means
}

// aState reports whether the mean is that of the first or of the last round, but for a tenth: less is not said of any number.
func aState(rounds []float64) bool {
	m := mean(rounds)
	near := func(rate float64) bool { return math.Abs(rate-m) <= 0.1*m }
	return near(rounds[0]) || near(rounds[len(rounds)-1])
}

// independent joins neighbours until they hardly depend on each other, as long as enough are left.
func independent(rates []float64) (values []float64, joined int) {
	joined = (len(rates) + most - 1) / most
	values = batches(rates, joined)
	for len(rates)/(2*joined) >= enoughBatches && correlation(values) > dependent {
		joined *= 2
		values = batches(rates, joined)
	}
	return values, joined
}

// beyondChance reports whether a trend or a step of the values is more than noise makes of them:
// by the variance of Kendall's S, and by shuffles of the values, of which hardly any has
// as much. Noise whose neighbours depend on each other makes more than that.
func beyondChance(values []float64) bool {
	n := float64(len(values))
	excess := excessOf(values)
	if z := (trendOf(values) - 1) / math.Sqrt(n*(n-1)*(2*n+5)/18); z > trendLimit*excess {
		return true
	}
	step := clarity(values)
	allowed := int(chance * (shuffles + 1))
	shuffled := append([]float64(nil), values...)
	r := rand.New(rand.NewPCG(1, uint64(len(values)))) // the same verdict on the same samples
	for range shuffles {
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if excess*clarity(shuffled) >= step*(1-1e-9) {
			if allowed--; allowed <= 0 {
				return false
			}
		}
	}
	return true
}

// clarity is how large the best step of the values is, compared with what they vary without it.
func clarity(values []float64) float64 {
	_, score := stepOf(values)
	all := squares(centred(values))
	rest := all - score*score
	if rest <= 1e-12*all {
		return math.Inf(1) // nothing but the step
	}
	return score / math.Sqrt(rest)
}

func centred(values []float64) []float64 {
	m := mean(values)
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v - m
	}
	return out
}

// excessOf is how much more the means of neighbours vary than those of values that do not depend on
// each other. What depends on each other is what is left without the step, or without the drift,
// whichever explains more.
func excessOf(values []float64) float64 {
	n := float64(len(values))
	rest := withoutLine(values)
	if at, _ := stepOf(values); at > 0 {
		if other := withoutStep(values, at); squares(other) < squares(rest) {
			rest = other
		}
	}
	rho := correlation(rest)
	rho += (4 + 4*max(0, rho)) / n // what was explained makes it look smaller
	rho = min(0.9, max(0, rho))
	return math.Sqrt((1 + rho) / (1 - rho))
}

func withoutStep(values []float64, at int) []float64 {
	before, after := mean(values[:at]), mean(values[at:])
	out := make([]float64, len(values))
	for i, v := range values {
		if out[i] = v - after; i < at {
			out[i] = v - before
		}
	}
	return out
}

func withoutLine(values []float64) []float64 {
	middle, m := float64(len(values)-1)/2, mean(values)
	var xy, xx float64
	for i, v := range values {
		x := float64(i) - middle
		xy, xx = xy+x*(v-m), xx+x*x
	}
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v - m
		if xx > 0 {
			out[i] -= xy / xx * (float64(i) - middle)
		}
	}
	return out
}

func squares(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v * v
	}
	return sum
}
