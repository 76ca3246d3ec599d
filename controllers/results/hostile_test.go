package results

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
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
	settled, err := settle(t.Context(), b, plan, self, nil, nil, proof{})
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

// forger has a large document for each planned trial.
type forger struct {
	*bucket
	plan *trial.Plan
	d    result.Trial
}

func (f *forger) List(context.Context, string, int) (keys []string, err error) {
	for _, t := range f.plan.Trials {
		keys = append(keys, f.plan.Keys().Trial(self.Name, t.ID))
	}
	return keys, nil
}

func (f *forger) GetLimited(_ context.Context, key string, _ int) ([]byte, error) {
	for _, t := range f.plan.Trials {
		if key == f.plan.Keys().Trial(self.Name, t.ID) {
			f.d.Trial = t
			return result.Encode(f.d)
		}
	}
	return nil, store.ErrNotFound
}

// forged is a plan of many trials, and a store with a document for each, as large as they may be.
func forged(t *testing.T, trials int, m result.Measurement) *forger {
	t.Helper()
	p := *plan
	p.Trials = nil
	for i := range trials {
		p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprint("w-", i), Workload: "w", Repeat: i + 1})
	}
	d := documentOf(self, trial.Trial{})
	d.Measurement = m
	return &forger{bucket: newBucket(t), plan: &p, d: d}
}

// grown is by how many MiB the heap grows while f runs.
func grown(f func()) int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, highest := m.HeapInuse, m.HeapInuse
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			runtime.ReadMemStats(&m)
			highest = max(highest, m.HeapInuse)
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return int((highest - before) >> 20)
}

// The operator has 256 MiB. What was too much is too much again after a restart.
func TestDocumentsThatTogetherAreTooLargeAreTheWorkersFailure(t *testing.T) {
	verdicts := slices.Repeat([]result.Verdict{{Name: "V", Effect: result.Qualifies, Sentence: strings.Repeat("<", 8<<10)}}, 256)
	restoring := slices.Repeat([]result.Tunable{{Name: "n", Restoring: strings.Repeat("x", 1<<17)}}, 50)
	var parts []result.Part
	for i := range 32 {
		m := result.Metrics{}
		for j := range 500 {
			m.Set(fmt.Sprint("a.submission.", j), "", 1)
		}
		parts = append(parts, result.Part{Name: fmt.Sprint("p", i), Operations: []string{"read"}, Metrics: m})
	}
	for name, c := range map[string]struct {
		trials   int
		m        result.Measurement
		tunables []result.Tunable
		rejected bool
	}{
		"verdicts":                  {100, result.Measurement{Verdicts: verdicts}, nil, true},
		"texts that are cut":        {45, result.Measurement{}, restoring, true},
		"metrics that are left out": {60, result.Measurement{Parts: parts}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := forged(t, c.trials, c.m)
			f.d.Tunables = c.tunables
			var settled Settled
			var err error
			if mib := grown(func() { settled, err = settle(t.Context(), f, f.plan, self, nil, nil, proof{}) }); mib > 100 {
				t.Errorf("settling takes %d MiB", mib)
			}
			if rejected := settled.Failure != nil && settled.Failure.Class == reason.ResultsRejected; err != nil || rejected != c.rejected {
				t.Errorf("%+v, %v", settled, err)
			}
		})
	}
}

// What is stored can be read again.
func TestARunsSummaryThatIsTooLargeIsNotStored(t *testing.T) {
	s := result.Summary{Failures: map[string]*trial.Failure{"w": {Message: strings.Repeat("x", result.MaxRunSummary)}}}
	_, err := encodeRun(s)
	if failure, ok := errors.AsType[*trial.Failure](err); !ok || failure.Class != reason.LimitExceeded || failure.Remedy == "" {
		t.Error(err)
	}
}

// Metrics of any name can be called as those that a page draws.
func TestTheTrialsOfAPageAreBounded(t *testing.T) {
	large := *plan
	large.Workers = nil
	for i := range 20 {
		large.Workers = append(large.Workers, trial.Worker{Name: fmt.Sprint("t.", i), Target: "t", Node: "n"})
	}
	m := result.Metrics{}
	for i := range 500 {
		m.Set(fmt.Sprint("o", i, ".latency.p99"), result.Seconds, 1)
	}
	var parts []result.PartSummary
	for i := range 32 {
		parts = append(parts, result.PartSummary{Name: fmt.Sprint("p", i), Metrics: m, Operations: []string{"read"}})
	}
	c := &conclusion{plan: &large, fold: stats.NewFold(&large), page: true, room: maxReportTrials}
	for _, w := range large.Workers {
		s := result.NewWorkerSummary(&large, w)
		for _, x := range large.Trials {
			s.Trials = append(s.Trials, result.TrialSummary{Trial: x, Outcome: result.Failed, Parts: parts})
		}
		if err := c.take(s); err != nil {
			t.Fatal(err)
		}
	}
	last := c.trials[len(c.trials)-1]
	if len(c.trials[0].Trials) != 2 || len(last.Trials) != 0 || last.Omitted != 2 || c.bytes > maxReportBytes {
		t.Errorf("%d trials of the first worker, %d of the last, %d bytes", len(c.trials[0].Trials), len(last.Trials), c.bytes)
	}
}
