package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"storagebench.io/storagebench/internal/stats"
)

// What is promised.
const (
	falseAlarm = "A/A called Better or Worse"
	covers     = "the interval covers"
	finds      = "10 % at 3 % noise found with 12 trials an arm"
	gateErrs   = "a gate decided wrongly at any look"
	falseSame  = "a 5 % difference called NoDifference"
	failing    = "Sequential under a drift of 20 % (must fail)"
	aside      = "not promised"
)

var higher = stats.CompareOptions{Higher: true, MinEffect: 0.05}

// random of a seed.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 20261125)) }

// blocks of an experiment: arm B is exp(effect) times arm A, in an order by coin.
func blocks(r *rand.Rand, y []float64, effect float64) []stats.Block {
	var out []stats.Block
	for i := 0; i+4 <= len(y); i += 4 {
		v := func(at int, b bool) float64 {
			x := y[i+at]
			if b {
				x += effect
			}
			return math.Exp(x)
		}
		if r.IntN(2) == 0 {
			out = append(out, stats.Block{A: [2]float64{v(0, false), v(3, false)}, B: [2]float64{v(1, true), v(2, true)}})
		} else {
			out = append(out, stats.Block{A: [2]float64{v(1, false), v(2, false)}, B: [2]float64{v(0, true), v(3, true)}, BFirst: true})
		}
	}
	return out
}

// interleaved is an experiment of so many blocks.
func interleaved(m noise, n int, effect float64, seed uint64) stats.Comparison {
	r := random(seed)
	return stats.CompareBlocks(blocks(r, m.series(r, 4*n), effect), higher)
}

// byWidth adds blocks from 6 on, to 15, until the width that is blind to the effect is small enough.
func byWidth(m noise, effect, width float64, seed uint64) stats.Comparison {
	r := random(seed)
	all := blocks(r, m.series(r, 60), effect)
	n := 6
	for n < len(all) && stats.BlockHalfWidth(all[:n]) > width {
		n++
	}
	return stats.CompareBlocks(all[:n], higher)
}

// sequentially measures all of A, then all of B.
func sequentially(m noise, n int, effect float64, seed uint64) stats.Comparison {
	r := random(seed)
	y := m.series(r, 2*n)
	var a, b []float64
	for i, v := range y {
		if i < n {
			a = append(a, math.Exp(v))
		} else {
			b = append(b, math.Exp(v+effect))
		}
	}
	return stats.CompareArms(a, b, higher)
}

func differs(c stats.Comparison) bool { return c.Outcome == stats.Better || c.Outcome == stats.Worse }

func holds(c stats.Comparison, effect float64) bool {
	return c.OK && c.Low <= math.Exp(effect) && math.Exp(effect) <= c.High
}

// perVolume is the number of trials of each volume.
const perVolume = 6

// perVolume draws the trials of so many volumes.
func (m noise) perVolume(r *rand.Rand, volumes int) [][]float64 {
	var out [][]float64
	for range volumes {
		shift := m.between * r.NormFloat64()
		y := m.series(r, perVolume)
		for i := range y {
			y[i] = math.Exp(y[i] + shift)
		}
		out = append(out, y)
	}
	return out
}

// cells are all kinds of experiments.
func cells() []cell {
	var all []cell
	add := func(promise, name string, most, least float64, once func(uint64) bool) {
		all = append(all, cell{promise: promise, name: name, most: most, least: least, once: once})
	}
	addComparisons(add)
	addVolumes(add)
	addTrials(add)
	addGates(add)
	addEndings(add)
	return all
}

type adder func(promise, name string, most, least float64, once func(seed uint64) bool)

func addComparisons(add adder) {
	effect := math.Log(1.1)
	for _, m := range compared {
		for _, n := range []int{6, 8} {
			name := fmt.Sprintf("%d blocks, %s", n, m.name)
			add(falseAlarm, name, 0.05, 0, func(s uint64) bool { return differs(interleaved(m, n, 0, s)) })
			add(covers, name+", effect 10 %", 0, 0.93, func(s uint64) bool { return holds(interleaved(m, n, effect, s), effect) })
		}
		name := "6 to 15 blocks by width, " + m.name
		add(falseAlarm, name, 0.05, 0, func(s uint64) bool { return differs(byWidth(m, 0, 0.02, s)) })
		add(covers, name, 0, 0.93, func(s uint64) bool { return holds(byWidth(m, 0, 0.02, s), 0) })
	}
	found := func(m noise, e float64) func(uint64) bool {
		return func(s uint64) bool {
			c := interleaved(m, 6, e, s)
			return c.Outcome == stats.Better && e > 0 || c.Outcome == stats.Worse && e < 0
		}
	}
	for _, m := range []noise{{name: "faster", sigma: 0.03}, {name: "faster, drift of 20 %", sigma: 0.03, drift: 0.2}, {name: "faster, autocorrelation 0.3", sigma: 0.03, rho: 0.3}} {
		add(finds, m.name, 0, 0.95, found(m, effect))
	}
	add(finds, "slower", 0, 0.95, found(noise{sigma: 0.03}, -effect))
	for _, n := range []int{6, 8, 12} {
		add(falseSame, fmt.Sprintf("%d blocks", n), 0.05, 0, func(s uint64) bool {
			return interleaved(noise{sigma: 0.03}, n, math.Log(1.05), s).Outcome == stats.NoDifference
		})
		add(aside, fmt.Sprintf("A/A called NoDifference, %d blocks at 3 %% noise", n), 0, 0, func(s uint64) bool {
			return interleaved(noise{sigma: 0.03}, n, 0, s).Outcome == stats.NoDifference
		})
	}
	drift := noise{sigma: 0.03, drift: 0.2}
	add(failing, "A/A called Better or Worse", 0, 0.5, func(s uint64) bool { return differs(sequentially(drift, 12, 0, s)) })
	add(failing, "the interval does not cover", 0, 0.5, func(s uint64) bool { return !holds(sequentially(drift, 12, effect, s), effect) })
}

func addVolumes(add adder) {
	for _, m := range volumes {
		for _, v := range []int{3, 4, 6, 8} {
			add(covers, fmt.Sprintf("%d volumes × 6 trials, %s", v, m.name), 0, 0.93, func(s uint64) bool {
				e := stats.VolumeInterval(m.perVolume(random(s), v))
				return e.OK && e.Low <= 1 && e.High >= 1
			})
		}
		add(falseAlarm, "classes of 4 volumes × 6 trials, "+m.name, 0.05, 0, func(s uint64) bool {
			r := random(s)
			return differs(stats.CompareClasses(m.perVolume(r, 4), m.perVolume(r, 4), higher))
		})
	}
	shared := noise{sigma: 0.05, rho: 0.3, drift: 0.2}
	add(falseAlarm, "4 volumes × 6 blocks, drift and autocorrelation", 0.05, 0, func(s uint64) bool {
		r := random(s)
		var all [][]stats.Block
		for range 4 {
			all = append(all, blocks(r, shared.series(r, 24), 0))
		}
		return differs(stats.CompareVolumes(all, higher))
	})
	add(aside, "covers, 4 volumes, a fifth of which are 20 % slower", 0, 0, func(s uint64) bool {
		r := random(s)
		all := noise{sigma: 0.03}.perVolume(r, 4)
		for i := range all {
			if r.Float64() < 0.2 {
				for k := range all[i] {
					all[i][k] *= 0.8
				}
			}
		}
		truth := math.Exp(0.2 * math.Log(0.8))
		e := stats.VolumeInterval(all)
		return e.Low <= truth && truth <= e.High
	})
}

// trials are those of one volume.
func trials(m noise, n int, seed uint64) []float64 {
	y := m.series(random(seed), n)
	for i := range y {
		y[i] = math.Exp(y[i])
	}
	return y
}

func addTrials(add adder) {
	once, front := stats.Looks{Max: 30}, stats.Looks{Max: 30, Spending: stats.Front}
	for _, m := range single {
		truth := math.Exp(m.truth())
		inside := func(i stats.Interval) bool { return i.OK && i.Low <= truth && truth <= i.High }
		for _, n := range []int{6, 12, 20, 30} {
			add(covers, fmt.Sprintf("%d trials, %s", n, m.name), 0, 0.93, func(s uint64) bool { return inside(stats.MedianOf(trials(m, n, s), once)) })
		}
		add(covers, "6 to 30 trials by width, "+m.name, 0, 0.93, func(s uint64) bool {
			y := trials(m, 30, s)
			for n := 6; ; n++ {
				if h, ok := stats.HalfWidth(y[:n], front); n == 30 || ok && h <= 0.02 {
					return inside(stats.MedianOf(y[:n], front))
				}
			}
		})
		add(covers, "6 to 30 trials until a gate decides, "+m.name, 0, 0.93, func(s uint64) bool {
			y := trials(m, 30, s)
			for n := 6; ; n++ {
				if d := stats.DecideGate(y[:n], front, truth*1.03, true); n == 30 || d.Outcome != stats.Inconclusive {
					return inside(d.Interval)
				}
			}
		})
	}
	add(aside, "covers, 6 to 30 trials by width with fixed ranks, autocorrelation 0.3", 0, 0, func(s uint64) bool {
		y := trials(noise{sigma: 0.03, rho: 0.3}, 30, s)
		for n := 6; ; n += 3 {
			if h, _ := stats.HalfWidth(y[:n], once); n == 30 || h <= 0.02 {
				i := stats.MedianOf(y[:n], once)
				return i.Low <= 1 && 1 <= i.High
			}
		}
	})
	for _, rho := range []float64{0.5, 0.7} {
		add(aside, fmt.Sprintf("covers, 12 trials, autocorrelation %.1f", rho), 0, 0, func(s uint64) bool {
			i := stats.MedianOf(trials(noise{sigma: 0.03, rho: rho}, 12, s), once)
			return i.Low <= 1 && 1 <= i.High
		})
	}
}

// addGates has the limit at the truth: every decision is wrong.
func addGates(add adder) {
	for _, m := range single {
		truth := math.Exp(m.truth())
		for _, most := range []int{12, 20, 30} {
			promise, limit := gateErrs, 0.05
			if m.rho > 0 {
				promise, limit = aside, 0
			}
			name := fmt.Sprintf("6 to %d trials, %s", most, m.name)
			if promise == aside {
				name = gateErrs + ", " + name
			}
			looks := stats.Looks{Max: most, Spending: stats.Front}
			add(promise, name, limit, 0, func(s uint64) bool {
				y := trials(m, most, s)
				for n := 6; n <= most; n++ {
					if stats.DecideGate(y[:n], looks, truth, true).Outcome != stats.Inconclusive {
						return true
					}
				}
				return false
			})
		}
	}
}
