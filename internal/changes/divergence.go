package changes

import "math"

// divergence computes how far apart two neighbouring pieces of a series are:
//
//	Q(τ, κ) = 2/(m+n) · Σ|X−Y| − 2m/((m+n)(n−1)) · Σ|X−X'| − 2n/((m+n)(m−1)) · Σ|Y−Y'|
//
// for X the n numbers before τ, and Y the m numbers from τ to κ. The sums are built up in the
// order in which Otava's are, as numbers that are equal often make values of Q that differ only in
// their last bit.
type divergence struct {
	distances [][]float64
	// before[j] is the sum of the distances of the number j+1 to those before it.
	before []float64
	// after[i][j] is the sum of the distances of the number i to those from i+1 to j+1.
	after [][]float64
}

func newDivergence(series []float64) *divergence {
	n := len(series)
	d := &divergence{distances: square(n), before: make([]float64, max(n-1, 0)), after: square(max(n-1, 0))}
	for i := range n {
		for j := range n {
			d.distances[i][j] = math.Abs(series[i] - series[j])
		}
	}
	for i := range d.after {
		sum := 0.0
		for j := i; j < n-1; j++ {
			d.before[j] += d.distances[i][j+1]
			sum += d.distances[i][j+1]
			d.after[i][j] = sum
		}
	}
	return d
}

func square(n int) [][]float64 {
	all := make([]float64, n*n)
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = all[i*n : (i+1)*n]
	}
	return rows
}

// best returns the τ of a segment of two numbers or more at which Q is greatest for any κ, and
// that Q. Of equal ones it returns the first.
func (d *divergence) best(start, end int) (tau int, q float64) {
	n := end - 1 - start
	within := d.sumsBefore(start, n)
	// left[j] is the sum of after over the rows so far; right[i][j] over those below i.
	left := make([]float64, n)
	right := square(n)
	for j := range n {
		sum := 0.0
		for i := n - 1; i >= 1; i-- {
			sum += d.after[start+i][start+j]
			right[i-1][j] = sum
		}
	}
	tau, q = start+1, math.Inf(-1)
	for i := range n {
		sumX := 0.0
		if i > 0 {
			sumX = within[i-1]
		}
		for j := range n {
			left[j] += d.after[start+i][start+j]
			value := 0.0 // where κ is not after τ, Otava has a zero
			if j >= i {
				value = between(i, j, left[j], sumX, right[i][j])
			}
			if value > q {
				tau, q = start+1+i, value
			}
		}
	}
	return tau, q
}

// sumsBefore returns the sums of the distances within the first numbers of a segment.
func (d *divergence) sumsBefore(start, n int) []float64 {
	sums := make([]float64, n)
	total := 0.0
	for k := range n {
		outside := 0.0
		for i := range start {
			outside += d.distances[i][start+1+k]
		}
		total += d.before[start+k] - outside
		sums[k] = total
	}
	return sums
}

// between is Q for the i+1 numbers of X and the j-i+1 of Y.
func between(i, j int, both, sumX, sumY float64) float64 {
	a := float64(2 / float64(j+2) * (both - sumX))
	b, c := 0.0, 0.0
	if i > 0 {
		b = float64(float64(2*(j+1-i)) / float64((j+2)*i) * sumX)
	}
	if j > i {
		c = float64(float64(2*(i+1)) / float64((j+2)*(j-i)) * sumY)
	}
	return a - b - c
}
