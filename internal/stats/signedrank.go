package stats

import (
	"math"
	"slices"
)

// null is the distribution of a rank statistic if there is no effect: the probability of each value.
type null []float64

// signedRanks is the distribution of the sum of those of the ranks 1 to n whose sign is plus, over all 2ⁿ
// flips of signs: the permutation test of a randomised block experiment, on ranks.
func signedRanks(n int) null {
	p := make(null, n*(n+1)/2+1)
	p[0] = 1
	for r := 1; r <= n; r++ {
		for s := r * (r + 1) / 2; s >= 0; s-- {
			p[s] /= 2
			if s >= r {
				// p[s−r] has not been halved yet: s falls.
				p[s] += p[s-r] / 2
			}
		}
	}
	return p
}

// rankSums is the distribution of Mann and Whitney's U of m against n values.
func rankSums(m, n int) null {
	// ways[j][u]: of choosing j of the values seen so far with the statistic u.
	ways := make([][]float64, m+1)
	for j := range ways {
		ways[j] = make([]float64, m*n+1)
	}
	ways[0][0] = 1
	for seen := 1; seen <= m+n; seen++ {
		for j := min(seen, m); j >= 1; j-- {
			above := seen - j // values of the other arm below the one that is taken
			if above > n {
				continue
			}
			for u := m * n; u >= above; u-- {
				ways[j][u] += ways[j-1][u-above]
			}
		}
	}
	total := 0.0
	for _, w := range ways[m] {
		total += w
	}
	p := make(null, m*n+1)
	for u, w := range ways[m] {
		p[u] = w / total
	}
	return p
}

// most returns the largest c with P(statistic ≤ c) ≤ tail, and false if there is none.
func (p null) most(tail float64) (int, bool) {
	sum := 0.0
	for c, share := range p {
		if sum += share; sum > tail+1e-12 {
			return c - 1, c > 0
		}
	}
	return len(p) - 1, true
}

// twoSided is the p value of as extreme a statistic as w, on either side.
func (p null) twoSided(w int) float64 {
	sum := 0.0
	for c := 0; c <= w && c < len(p); c++ {
		sum += p[c]
	}
	return min(1, 2*sum)
}

// contrasts are the differences from which a shift is estimated: Walsh averages of one sample,
// or the differences of two.
type contrasts struct {
	sorted []float64
	null   null
}

// walsh are the averages (d_i+d_j)/2, i ≤ j.
func walsh(d []float64) contrasts {
	averages := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i := range d {
		for j := i; j < len(d); j++ {
			averages = append(averages, d[i]/2+d[j]/2)
		}
	}
	slices.Sort(averages)
	return contrasts{averages, signedRanks(len(d))}
}

// shifts are the differences b_j − a_i.
func shifts(a, b []float64) contrasts {
	all := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, y-x)
		}
	}
	slices.Sort(all)
	return contrasts{all, rankSums(len(a), len(b))}
}

// estimate is Hodges and Lehmann's: the median of the contrasts.
func (c contrasts) estimate() float64 { return Median(c.sorted) }

// interval has a confidence of at least 1 − alpha: the values of a shift that the test at level
// alpha does not refuse.
func (c contrasts) interval(alpha float64) (low, high float64, ok bool) {
	k, ok := c.null.most(alpha / 2)
	if !ok || 2*k >= len(c.sorted) {
		return math.NaN(), math.NaN(), false
	}
	return c.sorted[k], c.sorted[len(c.sorted)-1-k], true
}

// p is the two-sided p value of no shift. It is at most alpha if and only if interval(alpha) does
// not contain 0, also with ties.
func (c contrasts) p() float64 {
	notAbove, notBelow := 0, 0
	for _, v := range c.sorted {
		if v <= 0 {
			notAbove++
		}
		if v >= 0 {
			notBelow++
		}
	}
	return c.null.twoSided(min(notAbove, notBelow))
}
