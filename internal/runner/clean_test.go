package runner

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload"
)

// Files are removed after each trial, whatever its variant and outcome, and with no setting
// changed: deleting must not be faster for one variant than for the other.
func TestFilesAreRemovedAfterEachTrialOfEveryVariantWithTheSettingsPutBack(t *testing.T) {
	b, kernel, _ := newTunedBed(t)
	var steps []string
	b.engine.run = func(_ context.Context, env workload.Env) error {
		steps = append(steps, "run "+env.Trial.ID)
		if env.Trial.ID == "a.tuned.r001" {
			return errors.New("it failed")
		}
		return nil
	}
	b.engine.clean = func(env workload.Env) error {
		steps = append(steps, "clean "+env.Trial.ID+" with "+settings(kernel))
		return nil
	}
	b.run(t.Context())
	want := []string{
		"run a.control.r001", "clean a.control.r001 with 3000 100",
		"run a.tuned.r001", "clean a.tuned.r001 with 3000 100",
		"run a.control.r002", "clean a.control.r002 with 3000 100",
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Error(diff)
	}
}

func TestATrialWhoseFilesCannotBeRemovedFails(t *testing.T) {
	b := newBed(t)
	b.engine.clean = func(workload.Env) error { return errors.New("read-only") }
	receipt := b.run(t.Context())
	if receipt.Failure == nil || !slices.Contains(b.engine.ran, "a.r001") {
		t.Errorf("%+v, ran %v", receipt, b.engine.ran)
	}
	for _, s := range b.summary().Trials {
		if s.Outcome == result.Measured {
			t.Errorf("%s counts, although the next trial would find its files", s.ID)
		}
	}
}
