package stats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// wide is a plan of many workers with one workload, and the summary of one of them, in
// which each histogram has so many buckets.
func wide(workers, buckets int) (*trial.Plan, func(i int) *result.WorkerSummary) {
	p := &trial.Plan{Run: "r", Workloads: []trial.Workload{{Name: "w"}}, Trials: []trial.Trial{{ID: "w.r001", Workload: "w", Repeat: 1}}}
	for i := range workers {
		p.Workers = append(p.Workers, trial.Worker{Name: fmt.Sprintf("t.%d", i), Target: "t", Node: fmt.Sprint(i)})
	}
	return p, func(i int) *result.WorkerSummary {
		s := result.NewWorkerSummary(p, p.Workers[i])
		h := &histogram.Histogram{}
		for b := range buckets {
			h.Add(uint64(b)<<(b/64), 1)
		}
		s.Fold(&result.Trial{Trial: p.Trials[0], Outcome: result.Measured, Measurement: result.Measurement{
			Metrics: result.Metrics{"read.latency.p99": {Unit: result.Seconds, Value: 1}}, Histograms: result.Histograms{"read": h},
		}}, result.Object{})
		s.Environment = &result.Environment{Kernel: fmt.Sprintf("%030000d", i)}
		return s
	}
}

func TestAFoldOfWorkersOneAtATimeIsTheSummaryOfAll(t *testing.T) {
	p, summary := wide(5, 100)
	var all []result.WorkerSummary
	f := NewFold(p)
	for _, i := range []int{3, 0, 4, 1} { // in any order, and one is missing
		all = append(all, *summary(i))
		if err := f.Add(summary(i)); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Unix(1, 0)
	got, err := json.Marshal(f.Finish(now))
	want, wantErr := json.Marshal(Summarize(p, all, now))
	if err != nil || wantErr != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %v", err, wantErr)
	}
	if rows := f.Finish(now).Rows; len(rows) != 4 || rows[0].Node != "0" || rows[3].Node != "4" {
		t.Errorf("rows %+v", rows)
	}
}

func TestWhatIsNotInThePlanIsNoPanic(t *testing.T) {
	p, summary := wide(2, 1)
	f := NewFold(p)
	foreign := summary(0)
	foreign.Worker.Name = "t.7"
	if err := f.Add(foreign); err == nil {
		t.Error("a worker that is not in the plan was added")
	}
	if err := f.Add(summary(0)); err != nil {
		t.Error(err)
	}
	if err := f.Add(summary(0)); err == nil {
		t.Error("a worker was added twice")
	}
}

func TestAFoldIsBoundedWhateverIsAdded(t *testing.T) {
	const workers = 1000
	p, summary := wide(workers, 3700)
	f := NewFold(p)
	for i := range workers {
		if err := f.Add(summary(i)); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := f.Finish(time.Unix(0, 0))
	if m.HeapAlloc > 150<<20 {
		t.Errorf("%d MiB are held", m.HeapAlloc>>20)
	}
	document, err := json.Marshal(s)
	if err != nil || len(document) > result.MaxRunSummary {
		t.Errorf("the summary has %d bytes, %v", len(document), err)
	}
	omitted := slices.ContainsFunc(s.Rows, func(r result.Row) bool {
		return r.HistogramsOmitted && len(r.Histograms) == 0 && r.Metrics["read.latency.p99"].Pooled != nil
	})
	if len(s.Rows) != workers || s.Rows[0].HistogramsOmitted || !omitted {
		t.Errorf("%d rows; some without histograms: %v", len(s.Rows), omitted)
	}
}

// A run of many workers keeps of each part what tables show.
func TestPartsOfManyWorkersFit(t *testing.T) {
	const workers, parts = 1000, 8
	p, _ := wide(workers, 1)
	f := NewFold(p)
	for i := range workers {
		d := &result.Trial{Trial: p.Trials[0], Outcome: result.Measured, Measurement: result.Measurement{PartsOnly: true}}
		for j := range parts {
			m := result.Metrics{}
			for k := range 40 {
				m.Set(fmt.Sprintf("read.other.m%d", k), result.Count, 1)
			}
			for _, name := range []string{"read.iops", "read.bandwidth", "read.latency.p50", "read.latency.p99", "read.latency.p99.9", "read.latency.p99.99"} {
				m.Set(name, result.Seconds, 1)
			}
			d.Parts = append(d.Parts, result.Part{Name: fmt.Sprint("j", j), Operations: []string{"read"}, Metrics: m})
		}
		w := result.NewWorkerSummary(p, p.Workers[i])
		w.Fold(d, result.Object{})
		if err := f.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	rows := f.Finish(time.Unix(0, 0)).Rows
	if first, last := rows[1], rows[len(rows)-1]; len(rows) != workers*(parts+1) || len(first.Metrics) != 46 || len(last.Metrics) != 5 {
		t.Errorf("%d rows; the first part has %d metrics, the last %d", len(rows), len(first.Metrics), len(last.Metrics))
	}
}
