package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Outcome of a comparison of two arms, such as two variants or two targets.
type Outcome string

// Outcomes of a comparison.
const (
	// Better: the interval excludes no change, and the change is at least the smallest that matters.
	Better Outcome = "Better"
	// Worse is the same to the other side.
	Worse Outcome = "Worse"
	// NoDifference: the change is shown to be smaller than what matters.
	NoDifference Outcome = "NoDifference"
	// Undecided: none of them is shown.
	Undecided Outcome = "Inconclusive"
)

const (
	// MinBlocks is the fewest blocks of which the interval of a difference can exclude 0: 2/2⁶ is 3 %.
	MinBlocks = 6
	// minMargin is the smallest margin within which equality is shown.
	minMargin = 0.03
)

// Block is one randomised block of two arms: each ran twice, in an order and then in its reverse
// (ABBA or BAAB). A[0] and B[0] ran in the first half. Values are positive.
type Block struct {
	A, B [2]float64
	// BFirst reports that the coin was for BAAB.
	BFirst bool
}

// CompareOptions say what matters.
type CompareOptions struct {
	// Higher reports that a higher value is better.
	Higher bool
	// MinEffect is the smallest change that matters: 0.05 is 5 %. 0: 5 %.
	MinEffect float64
}

// DefaultMinEffect is the smallest change that matters if nobody says what does.
const DefaultMinEffect = 0.05

func (o CompareOptions) minEffect() float64 {
	if o.MinEffect > 0 {
		return o.MinEffect
	}
	return DefaultMinEffect
}

// Comparison of arm B with arm A.
type Comparison struct {
	Outcome Outcome
	// Ratio of B to A, Hodges and Lehmann's estimate in logarithms; Low and High are its 95 %
	// interval, if OK.
	Ratio, Low, High float64
	OK               bool
	// P is the two-sided p value of no difference: the share of all flips of the blocks' coins
	// under which the signed ranks are as extreme. 1 if there is no block.
	P float64
	// Units is the number of what was randomised or replicated: blocks, volumes, or, of arms
	// that were not blocked, trials of the smaller arm. MoreUnits is about how many more would decide, with
	// 80 % odds, if the estimate stays; 0: decided, or nothing can be said.
	Units, MoreUnits int
	// Order is what one step later in a block does, as a ratio; of blocks only.
	Order Interval
	// Half is the half-width that blocks would have by the spread within each arm, which is blind to
	// the coin and the effect: stopping on it, and on nothing else, keeps the p value. 0.05 is ±5 %; 0: unknown.
	Half float64
	// Corrected reports that the outcome would be Better or Worse but for the number of other
	// comparisons (Holm).
	Corrected bool
}

// CompareBlocks compares the arms of randomised blocks. Each block is one difference,
// however many trials it has: (ln B₁ + ln B₂ − ln A₁ − ln A₂)/2. A drift that is linear within the block
// cancels out, and any other flips its sign with the coin. So the test is exact under drift, autocorrelation and
// any distribution, if what one trial leaves behind does not act on the next.
// Blocks with a value that is not positive must not be passed.
func CompareBlocks(blocks []Block, o CompareOptions) Comparison {
	d, orders := make([]float64, len(blocks)), make([]float64, len(blocks))
	for i, b := range blocks {
		first, second := logRatio(b.B[0], b.A[0]), logRatio(b.B[1], b.A[1])
		d[i], orders[i] = (first+second)/2, (first-second)/2
		if b.BFirst {
			orders[i] = -orders[i]
		}
	}
	c := judge(walsh(d), len(d), MinBlocks, o)
	c.Order, c.Half = orderOf(orders), BlockHalfWidth(blocks)
	return c
}

// CompareVolumes compares two arms over volumes on each of which both ran in blocks: Student's t
// on the volumes' mean differences. It speaks for volumes of the class; below 3 volumes nothing does.
func CompareVolumes(perVolume [][]Block, o CompareOptions) Comparison {
	var d []float64
	for _, blocks := range perVolume {
		if len(blocks) == 0 {
			continue
		}
		sum := 0.0
		for _, b := range blocks {
			sum += (logRatio(b.B[0], b.A[0]) + logRatio(b.B[1], b.A[1])) / 2
		}
		d = append(d, sum/float64(len(blocks)))
	}
	if len(d) < 2 {
		return judged(0, nil, len(d), MinVolumes, o)
	}
	return student(stat.Mean(d, nil), stat.StdDev(d, nil)/math.Sqrt(float64(len(d))), float64(len(d)-1), len(d), o)
}

// CompareClasses compares two classes of volumes that were not paired: Welch's t on the volumes'
// means of logarithms. Values are positive.
func CompareClasses(a, b [][]float64, o CompareOptions) Comparison {
	means := func(perVolume [][]float64) (mean, square, n float64) {
		var all []float64
		for _, trials := range perVolume {
			if y, ok := logs(trials); ok && len(y) > 0 {
				all = append(all, stat.Mean(y, nil))
			}
		}
		if len(all) < 2 {
			return 0, 0, float64(len(all))
		}
		return stat.Mean(all, nil), stat.Variance(all, nil) / float64(len(all)), float64(len(all))
	}
	ma, va, na := means(a)
	mb, vb, nb := means(b)
	units := int(min(na, nb))
	if units < 2 {
		return judged(0, nil, units, MinVolumes, o)
	}
	free := min(na, nb) - 1
	if va+vb > 0 {
		free = (va + vb) * (va + vb) / (va*va/(na-1) + vb*vb/(nb-1))
	}
	return student(mb-ma, math.Sqrt(va+vb), free, units, o)
}

// CompareArms compares arms whose trials are in no blocks: the shift of one against the other, with Mann and
// Whitney's test. It assumes independent trials: a drift of the machine is taken for an effect, and an
// autocorrelation for precision.
func CompareArms(a, b []float64, o CompareOptions) Comparison {
	x, okA := logs(a)
	y, okB := logs(b)
	if !okA || !okB || len(x) == 0 || len(y) == 0 {
		return judged(0, nil, 0, minArm, o)
	}
	return judge(shifts(x, y), min(len(x), len(y)), minArm, o)
}

// minArm is the fewest trials of each of two arms without blocks.
const minArm = 4

// BlockHalfWidth is the half-width of a comparison by the spread of each arm's own two trials in a
// block, as a share. It sees neither labels nor effect. 0: there are no blocks.
func BlockHalfWidth(blocks []Block) float64 {
	n := float64(len(blocks))
	if n == 0 {
		return 0
	}
	squares := 0.0
	for _, b := range blocks {
		da, db := logRatio(b.A[1], b.A[0]), logRatio(b.B[1], b.B[0])
		squares += da*da + db*db
	}
	s := math.Sqrt(squares / (4 * n))
	return math.Expm1(StudentT(2*len(blocks), 1-(1-Confidence)/2) * s / math.Sqrt(n))
}

// logRatio is the logarithm of a/b, also where a/b is no number.
func logRatio(a, b float64) float64 { return math.Log(a) - math.Log(b) }

func orderOf(effects []float64) Interval {
	i := Interval{N: len(effects), Median: 1}
	if len(effects) == 0 {
		return i
	}
	mean := stat.Mean(effects, nil)
	i.Median = math.Exp(mean)
	if len(effects) >= MinVolumes {
		half := StudentT(len(effects)-1, 1-(1-Confidence)/2) * stat.StdDev(effects, nil) / math.Sqrt(float64(len(effects)))
		i.Low, i.High, i.OK = math.Exp(mean-half), math.Exp(mean+half), true
	}
	return i
}

// bounds is an interval of a logarithm at some alpha.
type bounds func(alpha float64) (low, high float64, ok bool)

func judge(c contrasts, units, fewest int, o CompareOptions) Comparison {
	if units == 0 {
		return judged(0, nil, 0, fewest, o)
	}
	out := judged(c.estimate(), c.interval, units, fewest, o)
	out.P = c.p()
	return out
}

func student(estimate, errorOf, free float64, units int, o CompareOptions) Comparison {
	t := func(quantile float64) float64 { return studentT(free, quantile) }
	out := judged(estimate, func(alpha float64) (float64, float64, bool) {
		half := t(1-alpha/2) * errorOf
		return estimate - half, estimate + half, units >= MinVolumes
	}, units, MinVolumes, o)
	switch {
	case errorOf > 0:
		out.P = 2 * (1 - studentCDF(free, math.Abs(estimate)/errorOf))
	case estimate != 0:
		out.P = 0
	}
	return out
}

// judged decides from an estimate of the logarithm of the ratio and its intervals.
func judged(estimate float64, interval bounds, units, fewest int, o CompareOptions) Comparison {
	c := Comparison{Outcome: Undecided, Ratio: math.Exp(estimate), P: 1, Units: units}
	if interval == nil {
		c.MoreUnits = max(fewest-units, 1)
		return c
	}
	low, high, ok := interval(1 - Confidence)
	if !ok || units < fewest {
		c.MoreUnits = max(fewest-units, 1)
		return c
	}
	c.Low, c.High, c.OK = math.Exp(low), math.Exp(high), true
	effect := math.Log1p(o.minEffect())
	margin := max(effect, math.Log1p(minMargin))
	// The interval that both one-sided tests of equivalence at 5 % correspond to.
	narrowLow, narrowHigh, _ := interval(2 * (1 - Confidence))
	const rounding = 1e-12
	switch {
	case (low > 0 || high < 0) && math.Abs(estimate) >= effect-rounding:
		c.Outcome = Worse
		if (estimate > 0) == o.Higher {
			c.Outcome = Better
		}
	case narrowLow > -margin && narrowHigh < margin:
		c.Outcome = NoDifference
	case math.Abs(estimate) >= effect:
		c.MoreUnits = moreUnits(units, max(estimate-low, high-estimate), math.Abs(estimate))
	default:
		c.MoreUnits = moreUnits(units, max(estimate-narrowLow, narrowHigh-estimate), margin-math.Abs(estimate))
	}
	return c
}

// moreUnits is how many more blocks or volumes narrow an interval from half to distance with 80 % odds;
// 0 if there is next to no distance.
func moreUnits(n int, half, distance float64) int {
	if distance < relevant/2 || math.IsNaN(half) {
		return 0
	}
	needed := math.Ceil(odds80 * float64(n) * half / distance * half / distance)
	return max(int(min(needed, 1e6))-n, 1)
}

// Holm returns which of several p values are refused at level alpha, so that one or more of
// those without an effect are refused with a probability of at most alpha, whatever they have in
// common. Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979.
func Holm(p []float64, alpha float64) []bool {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	refused := make([]bool, len(p))
	for i, at := range order {
		if !(p[at] <= alpha/float64(len(p)-i)) {
			break
		}
		refused[at] = true
	}
	return refused
}

// CorrectForAll leaves Better and Worse to those of several comparisons for which Holm's procedure
// does. The others become Inconclusive: with many rows, some differ by chance.
func CorrectForAll(all []*Comparison) {
	p := make([]float64, len(all))
	for i, c := range all {
		p[i] = c.P
	}
	for i, refused := range Holm(p, 1-Confidence) {
		c := all[i]
		if refused || c.Outcome != Better && c.Outcome != Worse {
			continue
		}
		c.Outcome, c.Corrected = Undecided, true
		c.MoreUnits = max(BlocksFor(len(all))-c.Units, 1)
	}
}

// BlocksFor is the fewest blocks with which Holm's procedure can refuse one of so many
// comparisons: 2/2ⁿ at most 5 % of their number.
func BlocksFor(comparisons int) int {
	n := MinBlocks
	for math.Ldexp(2, -n) > (1-Confidence)/float64(max(comparisons, 1)) {
		n++
	}
	return n
}
