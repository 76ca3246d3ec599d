package postmark

import (
	"encoding/json"
	"log/slog"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// newEnv is an environment whose workload has the given fields.
func newEnv(t *testing.T, dir string, fields map[string]any) workload.Env {
	t.Helper()
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return workload.Env{
		Workload: trial.Workload{Name: "mail", Engine: "postmark", Config: raw},
		Target:   trial.Target{Name: "fast", Source: trial.StorageClass, Mode: trial.Filesystem},
		Dir:      dir, Scratch: t.TempDir(), State: t.TempDir(),
		Trial: trial.Trial{ID: "mail.r001", Workload: "mail", Repeat: 1},
		Log:   slog.New(slog.DiscardHandler),
	}
}

func measureOnce(t *testing.T, env workload.Env) *result.Measurement {
	t.Helper()
	if err := (Engine{}).Check(env.Workload.Config, env.Target.Mode); err != nil {
		t.Fatal(err)
	}
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	m, err := Engine{}.Run(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
