package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"storagebench.io/storagebench/hack/bench/paired"
)

func rates(a, b float64, err error) func(context.Context, *lab) (paired.Side, paired.Side, error) {
	return func(context.Context, *lab) (paired.Side, paired.Side, error) {
		return func(context.Context) (float64, error) { return a, err },
			func(context.Context) (float64, error) { return b, nil }, nil
	}
}

func TestTheVerdictNamesWhatFallsShort(t *testing.T) {
	undone := 0
	entries := []entry{
		comparison{name: "fast", wanted: 0.95, sides: rates(96, 100, nil)},
		comparison{name: "slow", wanted: 0.97, sides: rates(96, 100, nil)},
		comparison{name: "broken", wanted: 0.95, sides: rates(1, 1, errors.New("broken"))},
		check{name: "small", do: func(_ context.Context, l *lab) (string, bool, error) {
			l.undo = append(l.undo, func() error { undone++; return nil })
			return "1 MiB", true, nil
		}},
	}
	effort := paired.Effort{Min: 2, Max: 2}
	for only, want := range map[string]string{
		"":           "2 of 4: slow, broken",
		"fast,small": "2 of 2",
		"slow":       "1 of 1: slow",
	} {
		line, ok, err := run(t.Context(), chosen{entries, only}, "/dev/shm", effort)
		if err != nil || line != want || ok != (only == "fast,small") {
			t.Errorf("only %q: %q, %v, %v", only, line, ok, err)
		}
	}
	if undone != 2 {
		t.Errorf("what a check made was removed %d times", undone)
	}
	if _, _, err := run(t.Context(), chosen{entries, "fats"}, "/dev/shm", effort); err == nil || !strings.Contains(err.Error(), "fast, slow") {
		t.Errorf("a name that is not there: %v", err)
	}
}

func TestWhatDDReportsIsARate(t *testing.T) {
	const text = "256+0 records in\n256+0 records out\n268435456 bytes (268 MB, 256 MiB) copied, 0.0671089 s, 4.0 GB/s\n"
	if rate, err := ddRate(text); err != nil || rate < 3.99e9 || rate > 4.01e9 {
		t.Errorf("%v, %v", rate, err)
	}
	if _, err := ddRate("dd: no"); err == nil {
		t.Error("that is no rate")
	}
}
