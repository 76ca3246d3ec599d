package stats

import (
	"math"
	"slices"
)

// Median returns the median of values, and 0 for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return s[mid-1] + (s[mid]-s[mid-1])/2
}

// MedianInterval returns order statistics of values that enclose the population's
// median with at least the given confidence (0.95), and false if there are too
// few values for that: 6 for 0.95.
//
// The number of values below the median is binomial(n, ½), so the k-th smallest
// and k-th largest enclose it with probability 1 − 2·P(X < k). We take the
// largest such k. Source: David & Nagaraja, Order Statistics, 3rd ed., §7.1.
func MedianInterval(values []float64, confidence float64) (low, high float64, ok bool) {
	n := len(values)
	k := rank(n, confidence)
	if k == 0 {
		return 0, 0, false
	}
	s := slices.Sorted(slices.Values(values))
	return s[k-1], s[n-k], true
}

// rank returns the largest k for which the k-th smallest and k-th largest of n values enclose the
// median with the given confidence, and 0 if there is none.
func rank(n int, confidence float64) int {
	tail, k := 0.0, 0
	for k < n/2 {
		next := tail + binomialHalf(n, k)
		if 1-2*next < confidence {
			break
		}
		tail = next
		k++
	}
	return k
}

// binomialHalf returns P(X = k) for X ~ binomial(n, ½).
func binomialHalf(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c - float64(n)*math.Ln2)
}
