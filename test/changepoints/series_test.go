//go:build changepoints

package changepoints

import (
	"math"
	"math/rand/v2"
)

// kind makes series of one kind, of a length and from a source of randomness.
type kind struct {
	name   string
	series func(r *rand.Rand, n int) []float64
}

// each fills a series number by number.
func each(n int, f func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// steps makes levels of random length, with noise of that deviation.
func steps(deviation, low, high float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		level := 100.0
		return each(n, func(int) float64 {
			if r.Float64() < 0.05 {
				level *= low + (high-low)*r.Float64()
			}
			return level * (1 + deviation*r.NormFloat64())
		})
	}
}

// one makes a single step of so many deviations, somewhere.
func one(size float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		at := r.IntN(n)
		return each(n, func(i int) float64 {
			v := 100 + r.NormFloat64()
			if i >= at {
				v += size
			}
			return v
		})
	}
}

// correlated is a series of which each number depends on the one before.
func correlated(rho float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		v := 0.0
		return each(n, func(int) float64 {
			v = rho*v + r.NormFloat64()
			return 100 + v
		})
	}
}

var kinds = []kind{
	{"normal", func(r *rand.Rand, n int) []float64 {
		return each(n, func(int) float64 { return 100 + r.NormFloat64() })
	}},
	{"lognormal", func(r *rand.Rand, n int) []float64 {
		return each(n, func(int) float64 { return math.Exp(r.NormFloat64()) })
	}},
	{"uniform", func(r *rand.Rand, n int) []float64 { return each(n, func(int) float64 { return r.Float64() }) }},
	{"heavy tails", func(r *rand.Rand, n int) []float64 {
		return each(n, func(int) float64 { return 100 + r.NormFloat64()/math.Max(math.Abs(r.NormFloat64()), 0.01) })
	}},
	{"one step of 2 deviations", one(2)},
	{"one step of 4 deviations", one(4)},
	{"one step of 8 deviations", one(8)},
	{"one step down", one(-12)},
	{"steps of a few percent", steps(0.01, 0.95, 1.05)},
	{"large steps", steps(0.01, 0.5, 2)},
	{"steps with much noise", steps(0.2, 0.5, 2)},
	{"steps without noise", steps(0, 0.5, 2)},
	{"a ramp", func(r *rand.Rand, n int) []float64 {
		return each(n, func(i int) float64 { return 100 + 0.3*float64(i) + r.NormFloat64() })
	}},
	{"a wave", func(r *rand.Rand, n int) []float64 {
		return each(n, func(i int) float64 { return 100 + 5*math.Sin(float64(i)/8) + r.NormFloat64() })
	}},
	{"correlated by a half", correlated(0.5)},
	{"correlated by nine tenths", correlated(0.9)},
	{"a walk", correlated(1)},
	{"two modes", func(r *rand.Rand, n int) []float64 {
		return each(n, func(int) float64 {
			if r.Float64() < 0.2 {
				return 80 + r.NormFloat64()
			}
			return 100 + r.NormFloat64()
		})
	}},
	{"outliers", func(r *rand.Rand, n int) []float64 {
		return each(n, func(int) float64 {
			if r.Float64() < 0.05 {
				return 100 + 50*r.NormFloat64()
			}
			return 100 + r.NormFloat64()
		})
	}},
	{"more noise later", func(r *rand.Rand, n int) []float64 {
		return each(n, func(i int) float64 { return 100 + (1+float64(i)/10)*r.NormFloat64() })
	}},
	{"integers with ties", func(r *rand.Rand, n int) []float64 {
		at := r.IntN(n)
		return each(n, func(i int) float64 {
			if i >= at {
				return float64(r.IntN(4) + 3)
			}
			return float64(r.IntN(4))
		})
	}},
	{"constants", func(r *rand.Rand, n int) []float64 {
		v, at := 0.1+float64(r.IntN(9))/10, r.IntN(2*n)
		return each(n, func(i int) float64 {
			if i >= at {
				return 2 * v
			}
			return v
		})
	}},
}
