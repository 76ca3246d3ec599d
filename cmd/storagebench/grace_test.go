package main

import (
	"testing"
	"time"

	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/runner"
)

// A worker that is stopped has time for all that it does then.
func TestAWorkerEndsBeforeItsPodIsKilled(t *testing.T) {
	const margin = 2 * time.Second // to write its receipt
	if runner.StopLimit+margin > jobspec.TerminationGrace {
		t.Errorf("it may take %s, and its Pod is killed after %s", runner.StopLimit, jobspec.TerminationGrace)
	}
}
