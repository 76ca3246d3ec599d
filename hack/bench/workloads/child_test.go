package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

func TestMain(m *testing.M) {
	// inChild starts this program again.
	if len(os.Args) > 1 && os.Args[1] == childArgument {
		runChild(context.Background())
		return
	}
	os.Exit(m.Run())
}

func TestATrialInAProcessOfItsOwnReturnsItsMetrics(t *testing.T) {
	l := &lab{memory: t.TempDir()}
	env, err := l.prepare(t.Context(), "filesync", t.TempDir(), map[string]any{"files": 3})
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := inChild(t.Context(), env)
	if err != nil || metrics["filesync.count"].Value != 3 {
		t.Errorf("%+v, %v", metrics, err)
	}
	env.Workload = trial.Workload{Name: "filesync", Engine: "filesync", Config: json.RawMessage(`{"files":0}`)}
	if _, err := inChild(t.Context(), env); err == nil || !strings.Contains(err.Error(), "filesync.files") {
		t.Errorf("a trial that fails: %v", err)
	}
}
