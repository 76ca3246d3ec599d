package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// steps returns the numbers of trials at which a rank grows, with the rank.
func steps(ranks []int) map[int]int {
	out := map[int]int{}
	for n := 1; n < len(ranks); n++ {
		if ranks[n] != ranks[n-1] {
			out[n] = ranks[n]
		}
	}
	return out
}

// The tables were computed apart from this code.
func TestSpendingRanksAreThoseOfTheExactWalk(t *testing.T) {
	for name, c := range map[string]struct {
		max   int
		front bool
		want  map[int]int
	}{
		"even to 30":  {30, false, map[int]int{8: 1, 11: 2, 14: 3, 17: 4, 20: 5, 22: 6, 25: 7, 27: 8, 30: 9}},
		"front to 30": {30, true, map[int]int{6: 1, 12: 2, 15: 3, 18: 4, 21: 5, 24: 6, 26: 7, 29: 8}},
		"front to 12": {12, true, map[int]int{6: 1, 10: 2}},
		"front to 20": {20, true, map[int]int{6: 1, 11: 2, 15: 3, 17: 4, 20: 5}},
		"one look":    {6, true, map[int]int{6: 1}},
	} {
		if diff := cmp.Diff(c.want, steps(SpendingRanks(c.max, c.front))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSignedRanksHaveTheCriticalValuesOfTheTables(t *testing.T) {
	for alpha, table := range map[float64]map[int]int{
		0.05: {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25},
		0.10: {5: 0, 6: 2, 7: 3, 8: 5, 9: 8, 10: 10, 12: 17},
	} {
		for n, want := range table {
			if c, ok := signedRanks(n).most(alpha / 2); c != want || !ok {
				t.Errorf("alpha %v, %d blocks: %d, %v, want %d", alpha, n, c, ok, want)
			}
		}
	}
	if _, ok := signedRanks(5).most(0.025); ok {
		t.Error("5 blocks can show a difference at 5 %")
	}
	if p := signedRanks(6).twoSided(0); p != 2.0/64 {
		t.Errorf("6 blocks of one sign: p = %v", p)
	}
}

// Critical values of Mann and Whitney's U, two-sided at 5 %.
func TestRankSumsHaveTheCriticalValuesOfTheTables(t *testing.T) {
	for _, c := range []struct{ m, n, want int }{{4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {8, 8, 13}, {10, 10, 23}, {5, 8, 6}} {
		if got, ok := rankSums(c.m, c.n).most(0.025); got != c.want || !ok {
			t.Errorf("%d against %d: %d, %v, want %d", c.m, c.n, got, ok, c.want)
		}
	}
	if _, ok := rankSums(3, 3).most(0.025); ok {
		t.Error("3 against 3 can show a difference")
	}
}

func TestStudentsTIsThatOfTheTables(t *testing.T) {
	for volumes, want := range map[int]float64{2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 8: 2.36} {
		if got := StudentT(volumes-1, 0.975); math.Abs(got-want) > 0.006 {
			t.Errorf("%d volumes: %v, want %v", volumes, got, want)
		}
	}
}

func TestHolmNeedsMoreBlocksForMoreRows(t *testing.T) {
	for rows, want := range map[int]int{0: 6, 1: 6, 2: 7, 4: 8, 6: 8, 12: 9, 24: 10} {
		if got := BlocksFor(rows); got != want {
			t.Errorf("%d rows: %d blocks, want %d", rows, got, want)
		}
	}
	if diff := cmp.Diff([]bool{true, false, true, false}, Holm([]float64{0.012, 0.04, 0.001, 0.03}, 0.05)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]bool{false, false}, Holm([]float64{math.NaN(), 0.03}, 0.05)); diff != "" {
		t.Error(diff)
	}
}

// The example of the derivation: 8 trials, 8.2 [6.9, 10.4], limit 10.
func TestAGateSaysHowManyMoreTrialsWouldDecide(t *testing.T) {
	i := Interval{N: 8, Median: 8.2, Low: 6.9, High: 10.4, OK: true}
	ratio, ok := blocked(i, 10)
	if n := more(8, ratio, odds80, Looks{Max: 30, Spending: Front}); n != 16 || !ok {
		t.Errorf("%d more trials, %v, want 16", n, ok)
	}
}

func TestGatesAreDecidedOnTheBound(t *testing.T) {
	looks := Looks{Max: 12, Spending: Front}
	for name, c := range map[string]struct {
		values  []float64
		limit   float64
		atLeast bool
		want    GateOutcome
		more    int
		beyond  bool
		atLimit bool
	}{
		"all below":                   {values: []float64{9, 8, 7, 9, 8, 7}, limit: 9, want: Met},
		"all above":                   {values: []float64{9, 8, 7.1, 9, 8, 7.1}, limit: 7, want: Missed},
		"equal is within, from below": {values: []float64{9, 8, 7, 9, 8, 7}, limit: 7, atLeast: true, want: Met},
		"all too low":                 {values: []float64{9, 8, 7, 9, 8, 7}, limit: 9.1, atLeast: true, want: Missed},
		"five":                        {values: []float64{1, 1, 1, 1, 1}, limit: 9, want: Inconclusive, more: 1},
		"none":                        {limit: 9, want: Inconclusive, more: 6},
		"the median is the limit":     {values: []float64{9, 8, 7, 9, 8, 7}, limit: 8, want: Inconclusive, atLimit: true},
		"one beyond":                  {values: []float64{5, 5.1, 8.1, 5, 5.2, 4.9}, limit: 8, want: Inconclusive, more: 7, beyond: true},
	} {
		d := DecideGate(c.values, looks, c.limit, !c.atLeast)
		if d.Outcome != c.want || d.AtLimit != c.atLimit || d.BeyondMax != c.beyond || c.more == 0 != (d.MoreTrials == 0) || c.more != 0 && d.MoreTrials != c.more {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := DecideVolumeGate([][]float64{{8, 8.1}, {8, 7.9}, {8.2, 8}}, 9, true); d.Outcome != Met || d.Interval.N != 3 {
		t.Errorf("three volumes: %+v", d)
	}
	if d := DecideVolumeGate([][]float64{{8}, {8}}, 9, true); d.Outcome != Inconclusive || d.MoreVolumes != 1 {
		t.Errorf("two volumes: %+v", d)
	}
	if d := DecideVolumeGate([][]float64{{8}, {6}, {10}, {8}}, 9, true); d.Outcome != Inconclusive || d.MoreVolumes < 4 || d.MoreTrials != 0 {
		t.Errorf("volumes that differ: %+v", d)
	}
}
