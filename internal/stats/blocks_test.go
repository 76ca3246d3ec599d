package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// blocksOf makes blocks of an effect, a factor a step, and noise, with a coin for each.
func blocksOf(n int, effect, step, noise float64) []Block {
	r := rand.New(rand.NewPCG(uint64(n), 9))
	var blocks []Block
	for range n {
		b := Block{BFirst: r.IntN(2) == 1}
		order := [4]bool{false, true, true, false} // whether B runs
		if b.BFirst {
			order = [4]bool{true, false, false, true}
		}
		seen := [2]int{}
		for place, isB := range order {
			v := 100 * math.Pow(step, float64(place)) * math.Exp(noise*r.NormFloat64())
			if isB {
				b.B[seen[1]] = v * effect
				seen[1]++
			} else {
				b.A[seen[0]] = v
				seen[0]++
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

func TestBlocksShowBetterWorseAndNoDifference(t *testing.T) {
	for name, c := range map[string]struct {
		blocks []Block
		higher bool
		want   Outcome
		more   int // -1: some
	}{
		"faster":                              {blocksOf(8, 1.2, 1, 0.01), true, Better, 0},
		"slower":                              {blocksOf(8, 0.8, 1, 0.01), true, Worse, 0},
		"a lower latency":                     {blocksOf(8, 0.8, 1, 0.01), false, Better, 0},
		"the same":                            {blocksOf(8, 1, 1, 0.01), true, NoDifference, 0},
		"2 % less for sure, which is too few": {blocksOf(8, 0.98, 1, 0.001), true, NoDifference, 0},
		"a drift of a fifth in each step":     {blocksOf(8, 1, 0.8, 0.01), true, NoDifference, 0},
		"too noisy":                           {blocksOf(8, 1, 1, 0.4), true, Undecided, -1},
		"five":                                {blocksOf(5, 1.2, 1, 0), true, Undecided, 1},
		"none":                                {nil, true, Undecided, 6},
	} {
		got := CompareBlocks(c.blocks, CompareOptions{Higher: c.higher, MinEffect: 0.05})
		if got.Outcome != c.want || c.more >= 0 && got.MoreUnits != c.more || c.more < 0 && got.MoreUnits < 1 || got.Units != len(c.blocks) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTheOrderIsApartFromTheEffect(t *testing.T) {
	c := CompareBlocks(blocksOf(7, 1.5, 0.9, 0), CompareOptions{Higher: true})
	if math.Abs(c.Ratio-1.5) > 1e-9 || math.Abs(c.Order.Median-0.9) > 1e-9 || !c.Order.OK {
		t.Errorf("%+v", c)
	}
	if there, back := CompareBlocks(blocksOf(9, 1.1, 1, 0.1), CompareOptions{}), CompareBlocks(swapped(blocksOf(9, 1.1, 1, 0.1)), CompareOptions{}); math.Abs(there.Ratio*back.Ratio-1) > 1e-12 || math.Abs(there.Low*back.High-1) > 1e-12 || there.P != back.P {
		t.Errorf("there %+v, back %+v", there, back)
	}
}

func swapped(blocks []Block) []Block {
	for i, b := range blocks {
		blocks[i] = Block{A: b.B, B: b.A, BFirst: !b.BFirst}
	}
	return blocks
}

// The width by which blocks stop does not see which arm is which, nor what it does.
func TestTheWidthToStopOnIsBlind(t *testing.T) {
	plain, shifted := BlockHalfWidth(blocksOf(8, 1, 1, 0.05)), BlockHalfWidth(swapped(blocksOf(8, 3, 1, 0.05)))
	if math.Abs(plain-shifted) > 1e-12 || plain < 0.01 || plain > 0.1 {
		t.Errorf("%v and %v", plain, shifted)
	}
}

// Of rows that differ by chance, Holm's procedure leaves none.
func TestManyRowsNeedMoreEvidence(t *testing.T) {
	faster := CompareBlocks(blocksOf(6, 1.2, 1, 0.001), CompareOptions{Higher: true})
	same := CompareBlocks(blocksOf(6, 1, 1, 0.01), CompareOptions{Higher: true})
	one, other := faster, same
	CorrectForAll([]*Comparison{&one})
	if one.Outcome != Better {
		t.Errorf("alone: %+v", one)
	}
	one = faster
	CorrectForAll([]*Comparison{&one, &other})
	if one.Outcome != Undecided || !one.Corrected || one.MoreUnits != 1 || other.Outcome != NoDifference {
		t.Errorf("with another: %+v, %+v", one, other)
	}
}

func TestVolumesAndArmsWithoutBlocks(t *testing.T) {
	volumes := [][]Block{blocksOf(2, 1.2, 1, 0.01), blocksOf(3, 1.21, 1, 0.01), blocksOf(4, 1.19, 1, 0.01)}
	if c := CompareVolumes(volumes, CompareOptions{Higher: true}); c.Outcome != Better || c.Units != 3 || !(c.P < 0.05) {
		t.Errorf("%+v", c)
	}
	if c := CompareVolumes(volumes[:2], CompareOptions{Higher: true}); c.Outcome != Undecided || c.MoreUnits != 1 || c.OK {
		t.Errorf("two volumes: %+v", c)
	}
	a, b := []float64{100, 101, 99, 100.5}, []float64{80, 81, 79, 80.5}
	if c := CompareArms(a, b, CompareOptions{Higher: true}); c.Outcome != Worse || !c.OK || math.Abs(c.Ratio-0.8) > 0.01 {
		t.Errorf("%+v", c)
	}
	if c := CompareArms(a[:3], b, CompareOptions{Higher: true}); c.Outcome != Undecided || c.MoreUnits != 1 {
		t.Errorf("three: %+v", c)
	}
	if c := CompareArms([]float64{0, 1, 2, 3}, b, CompareOptions{}); c.Outcome != Undecided || c.OK {
		t.Errorf("nothing: %+v", c)
	}
	classes := func(rates ...float64) [][]float64 {
		var out [][]float64
		for _, r := range rates {
			out = append(out, []float64{r, r * 1.01})
		}
		return out
	}
	if c := CompareClasses(classes(100, 102, 98), classes(150, 148, 152), CompareOptions{Higher: true}); c.Outcome != Better {
		t.Errorf("%+v", c)
	}
	if c := CompareClasses(classes(100, 150, 60), classes(110, 148, 80), CompareOptions{Higher: true}); c.Outcome != Undecided || c.MoreUnits < 1 {
		t.Errorf("%+v", c)
	}
}

// Kalibera and Jones' example of their T: what volumes have in common is not in the trials' spread.
func TestVolumesAreTheUnitOfTheirClass(t *testing.T) {
	v := VolumeInterval([][]float64{{99, 101}, {109, 111}, {119, 121}, nil})
	if v.N != 3 || v.Trials != 6 || !v.OK || !(v.Low < 90 && v.High > 130) || math.Abs(v.Within-0.01296) > 0.0001 || math.Abs(v.Between-0.0907) > 0.0002 {
		t.Errorf("%+v", v)
	}
	if v := VolumeInterval([][]float64{{99, 101}, {100, 100}}); v.OK || v.Between != 0 || v.N != 2 {
		t.Errorf("%+v", v)
	}
	if v := VolumeInterval([][]float64{{1}, {0}, {3}}); v.OK || v.Median != 0 {
		t.Errorf("%+v", v)
	}
}

func TestAutocorrelationWidensAnInterval(t *testing.T) {
	looks := Looks{Max: 30}
	alternating, rising := []float64{1, 2, 1, 2, 1, 2, 1, 2}, []float64{1, 2, 3, 4, 5, 6, 7, 8}
	if i := MedianOf(alternating, looks); i.Widened || i.Low != 1 || i.High != 2 {
		t.Errorf("%+v", i)
	}
	if i := MedianOf(rising, looks); !i.Widened || i.Low >= 1 || i.High <= 8 || i.Low <= 0 {
		t.Errorf("%+v", i)
	}
	if i := MedianOf([]float64{0, 0, 1, 1, 3, 3, 5, 5}, looks); !i.Widened || i.Low >= 0 || i.High <= 5 {
		t.Errorf("%+v", i)
	}
	if i := MedianOf([]float64{7, 7, 7, 7, 7, 7}, looks); i.Widened || i.Low != 7 || i.High != 7 || !i.OK {
		t.Errorf("%+v", i)
	}
	h, ok := HalfWidth([]float64{90, 110, 100, 95, 105, 99}, looks)
	if !ok || math.Abs(h-0.1005) > 1e-3 {
		t.Errorf("%v", h)
	}
	if looks.Due(7) || !looks.Due(9) || !looks.Due(30) || looks.Due(5) || !(Looks{Max: 30, Spending: Front}).Due(7) {
		t.Error("looks")
	}
}
