package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/compare"
)

func TestCompareAnswersWithItsExitCode(t *testing.T) {
	dir := t.TempDir()
	first := stored(t, filepath.Join(dir, "first.json"), summaryOf("fast", 6, 990, 1000, 1010))
	for name, c := range map[string]struct {
		n                 int
		low, median, high float64
		limit             string
		code              int
		verdict           string
	}{
		"the same":               {6, 990, 1000, 1010, "5%", exitDone, "no worse"},
		"faster":                 {6, 1990, 2000, 2010, "5%", exitDone, "no worse"},
		"slower":                 {6, 790, 800, 810, "5%", exitRegression, "regression"},
		"slower, and allowed":    {6, 790, 800, 810, "25%", exitDone, "no worse"},
		"too wide to tell":       {6, 500, 1000, 1500, "5%", exitInconclusive, "inconclusive"},
		"too few trials to tell": {3, 0, 100, 0, "5%", exitInconclusive, "inconclusive"},
	} {
		second := stored(t, filepath.Join(dir, "second.json"), summaryOf("other", c.n, c.low, c.median, c.high))
		stdout, stderr, code := output(t, "compare", "--max-regression", c.limit, first, second)
		if code != c.code || stderr != "" || !strings.Contains(stdout, "\n"+c.verdict+" (allowed regression: ") || !strings.Contains(stdout, "fast -> other") {
			t.Errorf("%s: exit code %d, %s\n%s", name, code, stderr, stdout)
		}
	}
	stdout, _, code := output(t, "compare", "-o", "json", first, stored(t, filepath.Join(dir, "second.json"), summaryOf("fast", 6, 790, 800, 810)))
	var got compare.Comparison
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitRegression || got.Verdict != compare.Regression || *got.Pairs[0].Metrics[0].Ratio != 0.8 {
		t.Errorf("exit code %d, %v\n%s", code, err, stdout)
	}
}
