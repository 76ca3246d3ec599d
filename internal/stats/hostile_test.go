package stats

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// named is the summary of a worker whose parts have a full histogram each, and metrics of these names.
func named(parts, metrics int, name func(i int) string) (*trial.Plan, *result.WorkerSummary) {
	p := &trial.Plan{
		Run: "r", Workloads: []trial.Workload{{Name: "w"}}, Workers: []trial.Worker{{Name: "t.n", Target: "t", Node: "n"}},
		Trials: []trial.Trial{{ID: "w.r001", Workload: "w", Repeat: 1}}, Stop: &trial.Stop{Min: 6, Max: 500},
	}
	w := result.NewWorkerSummary(p, p.Workers[0])
	t := result.TrialSummary{Trial: p.Trials[0], Outcome: result.Measured}
	m := result.Metrics{}
	for i := range metrics {
		m.Set(name(i), result.Seconds, 1)
	}
	h := &histogram.Histogram{}
	for i := range 58 * 64 {
		h.Add(uint64(64+i%64)<<(i/64), 1)
	}
	for i := range parts {
		part := fmt.Sprint("j", i)
		t.Parts = append(t.Parts, result.PartSummary{Name: part, Metrics: m, Operations: []string{"a"}})
		w.Workloads = append(w.Workloads, result.WorkloadPool{Cell: t.Cell(), Part: part, Histograms: result.Histograms{"a": h}})
	}
	w.Trials = append(w.Trials, t)
	return p, w
}

// The operator folds the summaries of all tenants, one after the other.
func TestNamesOfMetricsCostNoTime(t *testing.T) {
	took := func(name func(i int) string) time.Duration {
		p, w := named(32, 512, name)
		f := NewFold(p)
		began := time.Now()
		if err := f.Add(w); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	odd := took(func(i int) string { return fmt.Sprintf("a.latency.p0.%03d", i) })
	if odd > 2*time.Second {
		t.Errorf("percentiles that nobody writes take %s; other names %s", odd, took(func(i int) string { return fmt.Sprintf("a.metric.%03d", i) }))
	}
}

func TestPercentilesOfHistogramsAreThoseThatEnginesWrite(t *testing.T) {
	p, w := named(1, 0, nil)
	h := w.Workloads[len(w.Workloads)-1].Histograms
	h["a.completion"], h["device.read.wait"], h["device.read"] = h["a"], h["a"], h["a"]
	for _, name := range []string{"a.latency.p50", "a.latency.p99.99", "a.completion.p99", "device.read.wait.p50", "device.read.latency.p99.9", "a.latency.p0.001", "b.latency.p50"} {
		w.Trials[0].Parts[0].Metrics.Set(name, result.Seconds, 1)
	}
	f := NewFold(p)
	if err := f.Add(w); err != nil {
		t.Fatal(err)
	}
	row := f.Finish(time.Time{}).Rows[1]
	for name, e := range row.Metrics {
		if nobodys := name == "a.latency.p0.001" || name == "b.latency.p50"; (e.Pooled == nil) != nobodys {
			t.Errorf("%s: pooled %v", name, e.Pooled)
		}
	}
	if e := row.Metrics["a.latency.p99.99"]; *e.Pooled != float64(h["a"].Percentile(99.99))/1e9 {
		t.Errorf("got %v", *e.Pooled)
	}
}

// forgedSummaries is a plan of workers, each on a volume of its own or not, and what somebody forged of one of
// them: as many metrics as a summary may have, of which tables show none.
func forgedSummaries(workers int, volumes bool) (*trial.Plan, func(i int) *result.WorkerSummary) {
	const trials, parts, metrics = 16, 31, 512
	p := &trial.Plan{Run: "r", Workloads: []trial.Workload{{Name: "w"}}, Targets: []trial.Target{{Name: "t"}}}
	for i := range trials {
		p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprint("w.r", i), Workload: "w", Repeat: i + 1})
	}
	for i := range workers {
		worker := trial.Worker{Name: fmt.Sprint("t.", i), Target: "t", Node: fmt.Sprint("n", i)}
		if volumes {
			worker.Node, worker.Volume = "n", i+1
		}
		p.Workers = append(p.Workers, worker)
	}
	var all []result.PartSummary
	for j := range parts {
		m := result.Metrics{}
		for k := range metrics {
			m.Set(fmt.Sprintf("x.m%03d", k), result.Count, float64(k))
		}
		all = append(all, result.PartSummary{Name: fmt.Sprint("j", j), Metrics: m, Operations: []string{"x"}})
	}
	return p, func(i int) *result.WorkerSummary {
		s := result.NewWorkerSummary(p, p.Workers[i])
		for range 1000 {
			s.Attempts = append(s.Attempts, result.Attempt{Host: fmt.Sprintf("%0253d", i)})
		}
		for _, x := range p.Trials {
			t := result.TrialSummary{Trial: x, Outcome: result.Measured, Parts: all}
			s.Trials = append(s.Trials, t)
		}
		return s
	}
}

func TestAFoldIsBoundedWhateverIsForged(t *testing.T) {
	const workers = 12
	for _, volumes := range []bool{false, true} {
		t.Run(fmt.Sprint("volumes ", volumes), func(t *testing.T) {
			p, summary := forgedSummaries(workers, volumes)
			f := NewFold(p)
			for i := range workers {
				if err := f.Add(summary(i)); err != nil {
					t.Fatal(err)
				}
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			if m.HeapAlloc > 100<<20 {
				t.Errorf("%d MiB are held", m.HeapAlloc>>20)
			}
			s := f.Finish(time.Time{})
			if n := len(s.Attempts[p.Workers[0].Name]); n != 100 {
				t.Errorf("%d attempts of a worker are kept", n)
			}
			document, err := json.Marshal(s)
			if err != nil || len(document) > result.MaxRunSummary {
				t.Errorf("the summary has %d bytes, %v", len(document), err)
			}
		})
	}
}

// What decides is never left out.
func TestMetricsOfGatesStayInARunOfManyWorkers(t *testing.T) {
	p, summary := forgedSummaries(12, true)
	p.Gates = []trial.Gate{{Workload: "w", Metric: "x.m007", Limit: 8, AtMost: true}}
	f := NewFold(p)
	for i := range p.Workers {
		if err := f.Add(summary(i)); err != nil {
			t.Fatal(err)
		}
	}
	s := f.Finish(time.Time{})
	if len(s.Gates) != 31 || s.Gates[0].Outcome != result.GateMet {
		t.Fatalf("%d gates, %+v", len(s.Gates), s.Gates[:min(1, len(s.Gates))])
	}
	if e := s.Rows[1].Metrics["x.m007"]; e.N != 12*16 {
		t.Errorf("%d trials of 12 volumes count", e.N)
	}
}
