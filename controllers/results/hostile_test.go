package results

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// endless has more keys than anybody asks for.
type endless struct {
	*bucket
	most int
}

func (e *endless) List(_ context.Context, _ string, most int) ([]string, error) {
	e.most = most
	return nil, fmt.Errorf("store: list: %w", store.TooMany(most))
}

// It is the worker's failure: an error of the store would be met again and again.
func TestAWorkerWithMoreObjectsThanItsPlanIsRejected(t *testing.T) {
	b := &endless{bucket: newBucket(t)}
	settled, err := settle(t.Context(), b, plan, self, nil, nil)
	if err != nil || settled.Failure == nil || settled.Failure.Class != reason.ResultsRejected {
		t.Errorf("%+v, %v", settled, err)
	}
	if b.most != len(plan.Trials)+maxStrays {
		t.Errorf("at most %d keys are asked for", b.most)
	}
}

// limited notes how much of an object is asked for.
type limited struct {
	*bucket
	limit int
}

func (l *limited) GetLimited(_ context.Context, _ string, limit int) ([]byte, error) {
	l.limit = limit
	return nil, store.ErrTooLarge
}

func TestAPlanIsReadNoFurtherThanAPlanCanBe(t *testing.T) {
	l := &limited{bucket: newBucket(t)}
	b := &v1alpha1.StorageBenchmark{Status: v1alpha1.StorageBenchmarkStatus{Run: &v1alpha1.RunStatus{ID: "r", PlanDigest: "sha256:x"}}}
	_, err := readPlan(t.Context(), l, &v1alpha1.ResultStore{}, b)
	if failure, ok := errors.AsType[*trial.Failure](err); !ok || failure.Class != reason.PlanTampered || l.limit != result.MaxPlan {
		t.Errorf("%v after %d bytes", err, l.limit)
	}
}

// What could not be read again is not stored.
func TestAPlanThatIsTooLargeIsRefusedWhenItIsMade(t *testing.T) {
	large := *plan
	large.Workers = []trial.Worker{{Name: strings.Repeat("x", result.MaxPlan)}}
	_, err := (&Results{}).StorePlan(t.Context(), &v1alpha1.ResultStore{}, &large)
	if failure, ok := errors.AsType[*trial.Failure](err); !ok || failure.Class != reason.LimitExceeded || failure.Remedy == "" {
		t.Error(err)
	}
}

// A benchmark that waits for others has no trouble with its store.
func TestThatOthersWaitIsNoFailureOfTheStore(t *testing.T) {
	err := unstored(&v1alpha1.ResultStore{}, fmt.Errorf("s: %w", stores.ErrBusy))
	if _, failed := errors.AsType[*trial.Failure](err); failed || !errors.Is(err, stores.ErrBusy) {
		t.Error(err)
	}
}
