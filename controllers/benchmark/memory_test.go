package benchmark

import (
	"testing"
	"time"
)

func TestARemovalCountsUntilItIsOver(t *testing.T) {
	var m memory
	start := time.Unix(1000, 0)
	for _, after := range []time.Duration{0, 3 * time.Second, 9 * time.Second} {
		if got := m.clearing("b", start.Add(after)); got != after {
			t.Errorf("after %s: %s", after, got)
		}
	}
	m.cleared("b")
	if got := m.clearing("b", start.Add(time.Minute)); got != 0 {
		t.Errorf("after it was over: %s", got)
	}
}
