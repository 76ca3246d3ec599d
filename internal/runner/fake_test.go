package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// fakeEngine is an engine whose trials do what a test says.
type fakeEngine struct {
	// run is called for each trial; nil: it succeeds.
	run func(ctx context.Context, env workload.Env) error
	// prepare is called for each preparation; nil: it succeeds.
	prepare func(env workload.Env) error
	// change is given what a trial measured; nil: it stays.
	change func(env workload.Env, m *result.Measurement)

	// clean is called after each trial; nil: nothing happens.
	clean func(env workload.Env) error

	mu       sync.Mutex
	ran      []string
	prepared []string
	running  bool
}

func (e *fakeEngine) Name() string                            { return "fake" }
func (e *fakeEngine) Check(json.RawMessage, trial.Mode) error { return nil }
func (e *fakeEngine) Tools(context.Context) map[string]string { return map[string]string{"fake": "1"} }
func (e *fakeEngine) Engine(string) (workload.Engine, error)  { return e, nil }
func (e *fakeEngine) Estimate(json.RawMessage) (workload.Estimate, error) {
	return workload.Estimate{Duration: time.Second}, nil
}

func (e *fakeEngine) Prepare(_ context.Context, env workload.Env) error {
	e.prepared = append(e.prepared, env.Workload.Name)
	if e.prepare != nil {
		return e.prepare(env)
	}
	return nil
}

func (e *fakeEngine) Run(ctx context.Context, env workload.Env) (*result.Measurement, error) {
	e.setRunning(true)
	defer e.setRunning(false)
	e.ran = append(e.ran, env.Trial.ID)
	if env.Dir != "" {
		if err := os.WriteFile(filepath.Join(env.Dir, "data"), []byte(env.Trial.ID), 0o600); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(env.Scratch, "tool.out"), nil, 0o600); err != nil {
		return nil, err
	}
	h := &histogram.Histogram{}
	h.Add(uint64(1000*env.Trial.Repeat), 10)
	m := &result.Measurement{
		Metrics:    result.Metrics{"read.iops": {Unit: result.PerSecond, Value: float64(env.Trial.Repeat)}},
		Histograms: result.Histograms{"read": h},
		Seed:       env.Seed(),
		RawOutput:  []byte("output of " + env.Trial.ID),
	}
	if e.change != nil {
		e.change(env, m)
	}
	if e.run != nil {
		return m, e.run(ctx, env)
	}
	return m, nil
}

func (e *fakeEngine) Clean(_ context.Context, env workload.Env) error {
	if e.clean == nil {
		return nil
	}
	return e.clean(env)
}

func (e *fakeEngine) setRunning(b bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = b
}

func (e *fakeEngine) isRunning() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running
}

// fakeStore keeps objects in memory.
type fakeStore struct {
	objects map[string][]byte
	// put and get are asked before each request; an error is the answer.
	put, get func(key string) error
	puts     []string
}

func newFakeStore() *fakeStore { return &fakeStore{objects: map[string][]byte{}} }

func (s *fakeStore) Put(ctx context.Context, key string, body []byte) error {
	if s.put != nil {
		if err := s.put(key); err != nil {
			return err
		}
	}
	s.puts = append(s.puts, key)
	s.objects[key] = append([]byte(nil), body...)
	return ctx.Err()
}

func (s *fakeStore) GetLimited(ctx context.Context, key string, limit int) ([]byte, error) {
	body, err := s.Get(ctx, key)
	if err == nil && len(body) > limit {
		return nil, store.ErrTooLarge
	}
	return body, err
}

func (s *fakeStore) Get(_ context.Context, key string) ([]byte, error) {
	if s.get != nil {
		if err := s.get(key); err != nil {
			return nil, err
		}
	}
	body, ok := s.objects[key]
	if !ok {
		return nil, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}
	return body, nil
}

var errAway = fmt.Errorf("%w: in this test", store.ErrUnreachable)

// fakeClock tells the real time and never waits.
type fakeClock struct{}

func (fakeClock) Now() time.Time { return time.Now() }
func (fakeClock) After(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- time.Now()
	return c
}

// testPlan has two workloads, a and b, and three repeats, alternating.
func testPlan() *trial.Plan {
	p := &trial.Plan{
		Schema:    trial.PlanSchema,
		Benchmark: trial.Benchmark{Namespace: "lab", Name: "bench", UID: "uid"},
		Run:       "run-1",
		Targets:   []trial.Target{{Name: "fast", Source: trial.HostPath, Ref: "/fast", Mode: trial.Filesystem}},
		Workloads: []trial.Workload{{Name: "a", Engine: "fake"}, {Name: "b", Engine: "fake"}},
		Workers:   []trial.Worker{{Name: "fast.node", Target: "fast", Node: "node"}},
	}
	for repeat := 1; repeat <= 3; repeat++ {
		for _, w := range p.Workloads {
			p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprintf("%s.r%03d", w.Name, repeat), Workload: w.Name, Repeat: repeat})
		}
	}
	return p
}

// bed is everything that a worker needs, and survives it.
type bed struct {
	t      *testing.T
	target string
	engine *fakeEngine
	store  *fakeStore
	plan   *trial.Plan
	spool  string
	steps  []string
	change func(*Options)
}

func newBed(t *testing.T) *bed {
	t.Helper()
	return &bed{t: t, target: t.TempDir(), spool: t.TempDir(), engine: &fakeEngine{}, store: newFakeStore(), plan: testPlan()}
}

// run runs the worker as a new process would.
func (b *bed) run(ctx context.Context) trial.Receipt {
	b.t.Helper()
	o := Options{
		Plan: b.plan, Worker: b.plan.Workers[0].Name, TargetPath: b.target, Objects: b.store,
		Spool: b.spool, Scratch: b.t.TempDir(), Engines: b.engine, Version: "test",
		Clock: fakeClock{}, Log: slog.New(slog.DiscardHandler),
		Progress: func(e Event) { b.steps = append(b.steps, fmt.Sprintf("%s %s", e.Trial.ID, e.Step)) },
	}
	if b.change != nil {
		b.change(&o)
	}
	return Run(ctx, o)
}

func (b *bed) document(id string) *result.Trial {
	b.t.Helper()
	d := &result.Trial{}
	b.decode(b.plan.Keys().Trial("fast.node", id), result.TrialSchema, d)
	return d
}

func (b *bed) summary() *result.WorkerSummary {
	b.t.Helper()
	s := &result.WorkerSummary{}
	b.decode(b.plan.Keys().WorkerSummary("fast.node"), result.WorkerSchema, s)
	return s
}

func (b *bed) decode(key, schema string, d any) {
	b.t.Helper()
	body, ok := b.store.objects[key]
	if !ok {
		b.t.Fatalf("%s is not stored", key)
	}
	var err error
	switch d := d.(type) {
	case *result.Trial:
		err = result.Decode(body, schema, d)
	case *result.WorkerSummary:
		err = result.Decode(body, schema, d)
	default:
		err = errors.New("of no known type")
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// left are the names in the target.
func (b *bed) left() []string {
	b.t.Helper()
	entries, err := os.ReadDir(b.target)
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
