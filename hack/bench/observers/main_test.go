package main

import (
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/hack/bench/paired"
	"storagebench.io/storagebench/internal/observe/blockio"
)

func TestACostIsJudgedByItsEstimateAndHowWellThatIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		e        paired.Estimate
		requests bool
		ok       bool
	}{
		"nothing":                 {paired.Estimate{Ratio: 1, Low: 0.998, High: 1.002}, false, true},
		"half a percent":          {paired.Estimate{Ratio: 0.995, Low: 0.991, High: 0.999}, false, true},
		"one percent":             {paired.Estimate{Ratio: 0.99, Low: 0.985, High: 0.995}, false, false},
		"hardly known":            {paired.Estimate{Ratio: 1, Low: 0.9, High: 1.1}, false, false},
		"two percent with eBPF":   {paired.Estimate{Ratio: 0.98, Low: 0.97, High: 0.99}, true, true},
		"three percent with eBPF": {paired.Estimate{Ratio: 0.97, Low: 0.96, High: 0.98}, true, false},
	} {
		line, ok := judge(c.e, c.requests)
		if ok != c.ok || !strings.Contains(line, "ratio 0.9") && !strings.Contains(line, "ratio 1.0") || strings.Contains(line, "eBPF") != c.requests {
			t.Errorf("%s: %v, %s", name, ok, line)
		}
	}
}

func TestTheNearestRateIsChosen(t *testing.T) {
	for want, rates := range map[int][]float64{0: {60_000}, 1: {190_000, 104_000, 60_000}, 2: {300_000, 190_000, 80_000}} {
		if got := nearest(rates, wantedRate); got != want {
			t.Errorf("of %.0f the nearest is %d, want %d", rates, got, want)
		}
	}
}

func TestTheProgramsCostWhatAnEmptyOneDoesNot(t *testing.T) {
	got := table([]blockio.Cost{
		{Tracepoint: "insert", Runs: 100, Time: 5 * time.Microsecond},
		{Tracepoint: "issue", Runs: 1000, Time: 150 * time.Microsecond},
		{Tracepoint: "requeue"},
	}, blockio.Cost{Runs: 1000, Time: 30 * time.Microsecond}, 5000)
	want := "insert: 20 ns, 100 times\nissue: 120 ns, 1000 times\nrequeue: 0 ns, 0 times\n" +
		"the programs: 122 ns a request, at 5000 I/Os per second while the kernel counts that, which is 30 ns for each program\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
