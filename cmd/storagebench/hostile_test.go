package main

import (
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Whoever can write to the bucket, or gives somebody a summary.json, chooses what is in it.
func TestASummaryDoesNotSteerTheTerminal(t *testing.T) {
	const steer = "\x1b]0;owned\x07\x1b[2J\u202e"
	s := summaryOf("fast"+steer, 6, 990, 1000, 1010)
	s.Rows[0].Node += steer
	s.Failures = map[string]*trial.Failure{"w" + steer: {Class: "WorkloadFailed", Message: steer}}
	s.Planned++
	file := stored(t, filepath.Join(t.TempDir(), "s.json"), s)
	stdout, stderr, _ := output(t, "report", file)
	for _, bad := range []string{"\x1b", "\x07", "\u202e"} {
		if strings.Contains(stdout, bad) || strings.Contains(stderr, bad) {
			t.Errorf("%q is printed:\n%q\n%q", bad, stdout, stderr)
		}
	}
}

func TestNoCellOfASweepIsAFormula(t *testing.T) {
	s := summaryOf("fast", 6, 990, 1000, 1010)
	s.Sweeps = []result.Sweep{{Target: "t", Points: []result.SweepPoint{{Workload: "=HYPERLINK(1)", Variant: "@x"}}}}
	file := stored(t, filepath.Join(t.TempDir(), "s.json"), s)
	stdout, _, _ := output(t, "report", "-o", "csv", "--of", "sweeps", file)
	if strings.Contains(stdout, ",=HYPER") || strings.Contains(stdout, ",@x") {
		t.Errorf("a cell begins like a formula:\n%s", stdout)
	}
}
