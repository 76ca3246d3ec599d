package changes

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// tTest compares two pieces of a series by Student's t-test with pooled variance, two-sided. Like
// Otava it takes the deviations with the divisor n rather than n-1, which makes p a little
// smaller than it should be, and 0 for a single number.
func tTest(left, right []float64) Point {
	out := Point{Before: mean(left), After: mean(right), P: 1}
	n, m := float64(len(left)), float64(len(right))
	if n+m <= 2 {
		return out
	}
	free := n + m - 2
	pooled := ((n-1)*variance(left) + (m-1)*variance(right)) / free
	t := (out.Before - out.After) / math.Sqrt(pooled*(1/n+1/m))
	switch {
	case math.IsNaN(t): // 0/0
		out.P = math.NaN()
	case math.IsInf(t, 0):
		out.P = 0
	default:
		out.P = 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: free}.CDF(-math.Abs(t))
	}
	return out
}

func mean(values []float64) float64 { return sum(values) / float64(len(values)) }

// variance is the square of the deviation, which Otava's t-test is given.
func variance(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	m := mean(values)
	squares := make([]float64, len(values))
	for i, v := range values {
		squares[i] = float64((v - m) * (v - m))
	}
	deviation := math.Sqrt(sum(squares) / float64(len(values)))
	return float64(deviation * deviation)
}

// sum adds up in the order of NumPy's pairwise sum. The mean of equal numbers differs from them in
// the last bit or does not, depending on that order, and the t-test of a constant series is 0/0 or
// an infinity.
func sum(values []float64) float64 {
	n := len(values)
	switch {
	case n < 8:
		total := 0.0
		for _, v := range values {
			total += v
		}
		return total
	case n > 128:
		half := n / 2
		half -= half % 8
		return sum(values[:half]) + sum(values[half:])
	}
	var r [8]float64
	copy(r[:], values)
	whole := n - n%8
	for i := 8; i < whole; i += 8 {
		for k := range r {
			r[k] += values[i+k]
		}
	}
	total := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
	for _, v := range values[whole:] {
		total += v
	}
	return total
}
