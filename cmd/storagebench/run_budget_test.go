package main

import (
	"encoding/json"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store/dir"
	"storagebench.io/storagebench/internal/trial"
)

func TestAWorkerHasWhatTheWorkersBeforeItLeft(t *testing.T) {
	const broken = -1
	for name, c := range map[string]struct {
		budget float64   // of a worker, of 4
		spent  []float64 // by the workers, in seconds; broken: its summary cannot be read
		want   []time.Duration
	}{
		"nothing is measured":                        {60, nil, []time.Duration{60 * time.Second, 80 * time.Second, 120 * time.Second, 240 * time.Second}},
		"all spend all":                              {60, []float64{60, 60, 60, 60}, []time.Duration{60 * time.Second, 60 * time.Second, 60 * time.Second, 60 * time.Second}},
		"the first left some":                        {60, []float64{30}, []time.Duration{60 * time.Second, 70 * time.Second, 105 * time.Second, 210 * time.Second}},
		"the least trials take more than the budget": {60, []float64{500}, []time.Duration{60 * time.Second, 0, 0, 0}},
		"an earlier attempt went on after the first": {60, []float64{0, 80, 80, 70}, []time.Duration{10 * time.Second, 80 * time.Second, 80 * time.Second, 80 * time.Second}},
		"a summary that cannot be read":              {60, []float64{broken, 30}, []time.Duration{60 * time.Second, 80 * time.Second, 105 * time.Second, 210 * time.Second}},
		"without a budget":                           {0, []float64{30}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := dir.New(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			p := &trial.Plan{Benchmark: trial.Benchmark{Namespace: "lab", Name: "b"}, Run: "r1", Stop: &trial.Stop{Min: 1, Max: 2, BudgetSeconds: c.budget}, Trials: make([]trial.Trial, 2)}
			for _, n := range []string{"a", "b", "c", "d"} {
				p.Workers = append(p.Workers, trial.Worker{Name: n + ".here", Target: n, Node: "here"})
			}
			r := &localRun{plan: p, store: store}
			for i, spent := range c.spent {
				s := result.NewWorkerSummary(p, p.Workers[i])
				s.Trials = []result.TrialSummary{{Trial: trial.Trial{ID: "w.r001", Workload: "w", Repeat: 1}, Outcome: result.Measured, Attempt: 1, Seconds: spent}}
				body, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				if spent == broken {
					body = []byte("{")
				}
				if err := store.Put(t.Context(), p.Keys().WorkerSummary(p.Workers[i].Name), body); err != nil {
					t.Fatal(err)
				}
			}
			for i := range p.Workers {
				got, err := r.share(t.Context(), i)
				if err != nil {
					t.Fatal(err)
				}
				if (got == nil) != (c.want == nil) || got != nil && *got != c.want[i] {
					t.Errorf("%s has %v, want %v", p.Workers[i].Name, got, c.want)
				}
			}
		})
	}
}
