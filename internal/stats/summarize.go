package stats

import (
	"strconv"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Confidence of every interval.
const Confidence = 0.95

// Summarize folds what the workers measured into the run's summary. Rows are in
// the order of the plan: by worker, then by workload. A workload without a
// measured trial has no row; its failure stands in Failures.
func Summarize(p *trial.Plan, workers []result.WorkerSummary, finishedAt time.Time) result.Summary {
	s := result.Summary{
		Schema:      result.SummarySchema,
		Benchmark:   p.Benchmark,
		Run:         p.Run,
		FinishedAt:  finishedAt,
		Planned:     len(p.Trials) * len(p.Workers),
		Rows:        []result.Row{},
		Environment: map[string]*result.Environment{},
		Attempts:    map[string][]result.Attempt{},
		Failures:    map[string]*trial.Failure{},
	}
	byName := make(map[string]*result.WorkerSummary, len(workers))
	for i := range workers {
		byName[workers[i].Worker.Name] = &workers[i]
	}
	for _, worker := range p.Workers {
		w := byName[worker.Name]
		if w == nil {
			continue
		}
		s.Stored += len(w.Trials)
		s.Environment[worker.Name] = w.Environment
		s.Attempts[worker.Name] = w.Attempts
		if w.Failure != nil {
			s.Failures[worker.Name] = w.Failure
		}
		for _, cell := range p.Cells() {
			if row, ok := buildRow(worker, cell, w); ok {
				s.Rows = append(s.Rows, row)
			}
		}
		s.Comparisons = append(s.Comparisons, comparisons(p, worker, w)...)
	}
	return s
}

func buildRow(worker trial.Worker, cell trial.Cell, w *result.WorkerSummary) (result.Row, bool) {
	row := result.Row{
		Target:     worker.Target,
		Workload:   cell.Workload,
		Variant:    cell.Variant,
		Node:       worker.Node,
		Metrics:    map[string]result.Estimate{},
		Histograms: result.Histograms{},
	}
	values := map[string][]float64{}
	units := map[string]string{}
	for _, t := range w.Trials {
		if t.Cell() != cell || t.Outcome != result.Measured {
			continue
		}
		row.N++
		// A trial may lack one that was too fast to be measured.
		row.Operations = union(row.Operations, t.Operations)
		for name, m := range t.Metrics {
			values[name] = append(values[name], m.Value)
			units[name] = m.Unit
		}
	}
	if row.N == 0 {
		return row, false
	}
	for _, pool := range w.Workloads {
		if pool.Cell == cell {
			row.Histograms.Merge(pool.Histograms)
		}
	}
	for name, vs := range values {
		row.Metrics[name] = estimate(name, units[name], vs, row.Histograms)
	}
	return row, true
}

func estimate(name, unit string, values []float64, pooled result.Histograms) result.Estimate {
	i := interval(values)
	e := result.Estimate{Unit: unit, N: len(values), Median: i.Median, Low: i.Low, High: i.High}
	if operation, percentile, ok := latencyPercentile(name); ok {
		if h := pooled[operation]; h != nil && h.Count() > 0 {
			seconds := float64(h.Percentile(percentile)) / 1e9
			e.Pooled = &seconds
		}
	}
	return e
}

// latencyPercentile splits read.latency.p99.9 into read and 99.9.
func latencyPercentile(metric string) (operation string, percentile float64, ok bool) {
	operation, p, ok := strings.Cut(metric, ".latency.p")
	if !ok {
		return "", 0, false
	}
	percentile, err := strconv.ParseFloat(p, 64)
	return operation, percentile, err == nil
}
