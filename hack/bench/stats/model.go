package main

import (
	"math"
	"math/rand/v2"
)

// noise is the logarithm of what one trial measures beside the truth. Its median is 0.
type noise struct {
	name string
	// sigma of a normal deviate.
	sigma float64
	// rho correlates each trial's deviate with the one before.
	rho float64
	// outliers is the share of trials that are slower by slow.
	outliers, slow float64
	// even is a second mode: half of the trials are faster, half slower by it.
	even float64
	// drift is what the whole run drifts by.
	drift float64
	shape shape
	// between is the standard deviation of volumes.
	between float64
}

// shape of a drift.
type shape int

const (
	linear shape = iota
	step
	sine
)

// series draws the noise of n trials in a row on one volume.
func (m noise) series(r *rand.Rand, n int) []float64 {
	y := make([]float64, n)
	last := r.NormFloat64()
	at, phase := r.IntN(n), r.Float64()
	for i := range y {
		y[i] = m.sigma * last
		last = m.rho*last + math.Sqrt(1-m.rho*m.rho)*r.NormFloat64()
		if m.outliers > 0 && r.Float64() < m.outliers {
			y[i] -= m.slow
		}
		if m.even > 0 {
			if r.IntN(2) == 0 {
				y[i] += m.even
			} else {
				y[i] -= m.even
			}
		}
		switch m.shape {
		case linear:
			y[i] += m.drift * float64(i) / float64(n)
		case step:
			if i >= at {
				y[i] += m.drift
			}
		case sine:
			y[i] += m.drift * math.Sin(2*math.Pi*(float64(i)/float64(n)+phase))
		}
	}
	return y
}

// truth is the median of one trial's noise: that of the mixture, with outliers on one side.
func (m noise) truth() float64 {
	if m.outliers == 0 {
		return 0
	}
	// The median of (1−p)·N(0,σ) + p·N(−slow,σ), by bisection.
	below := func(x float64) float64 {
		phi := func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
		return (1-m.outliers)*phi(x/m.sigma) + m.outliers*phi((x+m.slow)/m.sigma)
	}
	low, high := -m.slow-m.sigma, m.sigma
	for range 60 {
		if mid := (low + high) / 2; below(mid) < 0.5 {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// Noises that a comparison must withstand.
var compared = []noise{
	{name: "lognormal 1 %", sigma: 0.01},
	{name: "lognormal 3 %", sigma: 0.03},
	{name: "lognormal 10 %", sigma: 0.10},
	{name: "10 % of trials 20 % slower", sigma: 0.03, outliers: 0.1, slow: 0.223},
	{name: "two modes ±5 %", sigma: 0.01, even: 0.05},
	{name: "autocorrelation 0.3", sigma: 0.03, rho: 0.3},
	{name: "autocorrelation 0.6", sigma: 0.03, rho: 0.6},
	{name: "drift of 20 %", sigma: 0.03, drift: 0.2},
	{name: "step of 20 %", sigma: 0.03, drift: 0.2, shape: step},
	{name: "wave of 20 %", sigma: 0.03, drift: 0.1, shape: sine},
	{name: "drift of 20 %, autocorrelation 0.6", sigma: 0.03, rho: 0.6, drift: 0.2},
}

// Noises of one arm, whose long-run median is the truth.
var single = []noise{
	{name: "lognormal 3 %", sigma: 0.03},
	{name: "10 % of trials 20 % slower", sigma: 0.03, outliers: 0.1, slow: 0.223},
	{name: "two modes ±5 %", sigma: 0.02, even: 0.05},
	{name: "autocorrelation 0.15", sigma: 0.03, rho: 0.15},
	{name: "autocorrelation 0.3", sigma: 0.03, rho: 0.3},
}

// Noises of volumes, whose mean is the truth.
var volumes = []noise{
	{name: "volumes alike", sigma: 0.03},
	{name: "volumes 3 %", sigma: 0.03, between: 0.03},
	{name: "volumes 10 %", sigma: 0.03, between: 0.10},
	{name: "volumes 3 %, autocorrelation 0.6", sigma: 0.03, rho: 0.6, between: 0.03},
}
