package benchmark

import (
	"testing"
	"time"
)

func TestARemovalCountsFromItsOwnGeneration(t *testing.T) {
	var m memory
	start := time.Unix(1000, 0)
	for i, step := range []struct {
		generation int64
		after      time.Duration
		want       time.Duration
	}{
		{1, 0, 0},
		{1, 3 * time.Second, 3 * time.Second},
		{2, 4 * time.Second, 0},
		{2, 9 * time.Second, 5 * time.Second},
	} {
		if got := m.clearing("b", step.generation, start.Add(step.after)); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	m.cleared("b")
	if got := m.clearing("b", 2, start.Add(time.Minute)); got != 0 {
		t.Errorf("after it was over: %s", got)
	}
}
