package main

import (
	"os"
	"path/filepath"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func TestATargetBehindALinkIsRefused(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"real/below", "outside/below"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link": "outside", "dangling": "/no/such/directory", "round": "round"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	plan := func(source trial.Source) *trial.Plan {
		return &trial.Plan{
			Targets: []trial.Target{{Name: "t", Source: source, Ref: "/node/t"}},
			Workers: []trial.Worker{{Name: "w", Target: "t"}},
		}
	}
	for path, refused := range map[string]bool{
		"real": false, "real/below": false, "link": true, "link/below": true, "dangling": true, "round": true, "missing": true,
	} {
		err := refuseLinks(plan(trial.HostPath), "w", filepath.Join(dir, path))
		if (err != nil) != refused {
			t.Errorf("%s: %v", path, err)
		}
		if !refused || err == nil {
			continue
		}
		if f := trial.AsFailure(err); f.Class != reason.TargetUnusable || f.Field != "spec.targets[t].hostPath.path" || f.Remedy == "" {
			t.Errorf("%s: the failure is incomplete: %+v", path, f)
		}
	}
	if err := refuseLinks(plan(trial.StorageClass), "w", filepath.Join(dir, "link")); err != nil {
		t.Errorf("a volume: %v", err)
	}
}
