package main

import (
	"strings"
	"testing"
)

// Few experiments, so the limits are wider by three standard errors of 5 %.
func TestThePromisesAreKept(t *testing.T) {
	var out strings.Builder
	if broken := run(&out, 300, 0.04); len(broken) > 0 || !strings.Contains(out.String(), "\nbench-stats: ok: ") {
		t.Errorf("broken: %v\n%s", broken, out.String())
	}
}

func TestABrokenPromiseIsSeen(t *testing.T) {
	m := noise{sigma: 0.03, drift: 0.2}
	wrong := 0
	for seed := range uint64(50) {
		if differs(sequentially(m, 12, 0, seed)) {
			wrong++
		}
	}
	if wrong < 45 {
		t.Errorf("a drift was taken for a difference in %d of 50 experiments", wrong)
	}
}

func TestTheIntervalOfAShareIsExact(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{{0, 10, 0, 0.3085}, {5, 10, 0.1871, 0.8129}, {10, 10, 0.6915, 1}} {
		if low, high := clopperPearson(c.k, c.n); low < c.low-1e-3 || low > c.low+1e-3 || high < c.high-1e-3 || high > c.high+1e-3 {
			t.Errorf("%d of %d: %v to %v", c.k, c.n, low, high)
		}
	}
}
