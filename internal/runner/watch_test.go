package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/apart"
)

// Storage that does not answer ends a trial with words, not the worker by its deadline.
func TestStorageThatDoesNotAnswerEndsTheTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{}
		answer := make(chan struct{})
		defer close(answer)
		hang := func() error { <-answer; return nil }
		begin := time.Now()
		err := w.unlessItHangs(t.Context(), workload.Env{Workload: trial.Workload{Name: "w", Engine: "fio"}}, "looking", hang)
		f, ok := errors.AsType[*trial.Failure](err)
		if !ok || !errors.Is(err, apart.ErrStuck) || !strings.Contains(f.Message, "looking did not end within 15m0s") || time.Since(begin) != trialGrace {
			t.Errorf("after %s: %+v", time.Since(begin), err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.unlessItHangs(ctx, workload.Env{}, "looking", hang); !errors.Is(err, context.Canceled) {
			t.Errorf("of a worker that is told to end: %v", err)
		}
		broken := errors.New("input/output error")
		if err := w.unlessItHangs(t.Context(), workload.Env{}, "looking", func() error { return broken }); !errors.Is(err, broken) {
			t.Errorf("an error of the storage: %v", err)
		}
	})
}
