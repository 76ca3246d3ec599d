package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/resource"

	"storagebench.io/storagebench/api/v1alpha1"
)

var rowLabels = []string{"namespace", "benchmark", "target", "node", "workload", "part", "variant"}

var (
	descBenchmarks    = describe("storagebench_benchmarks", "Benchmarks by state: Waiting, Running, Suspended, Stalled, Failed or Complete.", "state")
	descTrialsPlanned = describe("storagebench_trials_planned", "Trials that the present runs of all benchmarks plan.")
	descTrialsStored  = describe("storagebench_trials_stored", "Trials of the present runs of all benchmarks that are stored.")
	descUnrestored    = describe("storagebench_node_restore", "1 for each node whose settings a benchmark may have changed, by phase: InUse while its worker runs, then Restoring, NodeAway or Failed; Gone and Abandoned are waited for by nobody.", "node", "phase")
	descPending       = describe("storagebench_restores_pending", "Nodes whose settings are still to be restored, after the worker that changed them has ended.")
	descQueue         = describe("storagebench_queue_depth", "Benchmarks in the queue of a node that another one holds.", "node")
	descHeld          = describe("storagebench_node_held", "1 for each node that a benchmark holds, so that no other measures there.", "node", "namespace", "benchmark")
	descErrors        = describe("storagebench_collect_errors_total", "Scrapes without series of benchmarks, because the operator's cache did not answer.")
	descStore         = describe("storagebench_store_available", "1 if the ResultStore took an object when that was last tried, else 0.", "store")
	descState         = describe("storagebench_benchmark_state", "1 for the state that a benchmark is in, with the reason of its condition Ready.", "namespace", "benchmark", "state", "reason")
	descFinished      = describe("storagebench_benchmark_finished_time_seconds", "When the last run of a benchmark ended, in seconds since 1970.", "namespace", "benchmark")
	descMedian        = describe("storagebench_result", "Median over the trials of a row, in SI base units: I/Os, operations or bytes per second, or seconds for latencies.", append(slices.Clone(rowLabels), "metric")...)
	descLow           = describe("storagebench_result_low", "Lower end of the 95 % interval of storagebench_result; absent below 6 trials.", append(slices.Clone(rowLabels), "metric")...)
	descHigh          = describe("storagebench_result_high", "Upper end of the 95 % interval of storagebench_result; absent below 6 trials.", append(slices.Clone(rowLabels), "metric")...)
	descVerdict       = describe("storagebench_verdict", "1 for each verdict on the numbers of a row: Invalidates, or Qualifies.", append(slices.Clone(rowLabels), "verdict", "effect")...)
	descGate          = describe("storagebench_gate", "1 for the outcome of each gate of a run that has ended: Met, Missed or Inconclusive.", append(slices.Clone(rowLabels), "metric", "limit", "outcome")...)
	descAnswer        = describe("storagebench_benchmark_answer", "1 for what the last run of a benchmark answers: Qualified, NotQualified, Better, Worse, NoDifference, Inconclusive, Invalid, Regression or Measured.", "namespace", "benchmark", "answer")
	descBaseline      = describe("storagebench_baseline", "1 for what the comparison of a benchmark's last run with its baseline shows: NoWorse, Regression or Inconclusive.", "namespace", "benchmark", "outcome")
	descOmitted       = describe("storagebench_series_omitted", "Series of benchmarks that the operator leaves out, as there are more than it reports.")

	descriptions = []*prometheus.Desc{
		descBenchmarks, descTrialsPlanned, descTrialsStored, descUnrestored, descPending, descQueue, descHeld, descErrors, descStore, descState, descFinished,
		descMedian, descLow, descHigh, descVerdict, descGate, descAnswer, descBaseline, descOmitted,
	}
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// gauge makes one series. Texts that a tenant has written may not be UTF-8.
func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "?")
	}
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

// metrics are all series of the world, with at most that many of benchmarks and schedules.
func (w World) metrics(most int) []prometheus.Metric {
	out := w.counts()
	omitted := 0
	// Schedules are few and their series small; but whoever may create them could make many.
	share := most / 4
	for _, s := range fair(w.Schedules, scheduled) {
		all := scheduleMetrics(s)
		if len(all) > share {
			omitted += len(all)
			continue
		}
		share, most = share-len(all), most-len(all)
		out = append(out, all...)
	}
	for _, b := range fair(w.Benchmarks, latest) {
		size := seriesOf(b)
		if size > most {
			omitted += size
			continue
		}
		most -= size
		out = append(out, benchmarkMetrics(b)...)
	}
	return append(out, gauge(descOmitted, float64(omitted)))
}

// latest is when something last happened to a benchmark.
func latest(b *v1alpha1.StorageBenchmark) time.Time {
	switch run := b.Status.Run; {
	case run == nil:
		return b.CreationTimestamp.Time
	case run.FinishedAt != nil:
		return run.FinishedAt.Time
	default:
		return run.QueuedAt.Time
	}
}

// seriesOf is how many series benchmarkMetrics returns at most.
func seriesOf(b *v1alpha1.StorageBenchmark) int {
	n := 4 + len(b.Status.Gates)
	for i := range b.Status.Summary {
		row := &b.Status.Summary[i]
		n += len(row.Verdicts)
		for j := range row.Operations {
			o := &row.Operations[j]
			for _, e := range []*v1alpha1.Estimate{o.IOPS, o.Rate, o.Bandwidth} {
				if e != nil {
					n += 3
				}
			}
			if o.Latency != nil {
				n += 3
			}
		}
	}
	return n
}

func benchmarkMetrics(b *v1alpha1.StorageBenchmark) []prometheus.Metric {
	why := ""
	for i := range b.Status.Conditions {
		if b.Status.Conditions[i].Type == v1alpha1.ConditionReady {
			why = b.Status.Conditions[i].Reason
		}
	}
	out := []prometheus.Metric{gauge(descState, 1, b.Namespace, b.Name, stateOf(b), why)}
	if run := b.Status.Run; run != nil && run.FinishedAt != nil {
		out = append(out, gauge(descFinished, float64(run.FinishedAt.Unix()), b.Namespace, b.Name))
	}
	if a := b.Status.Answer; a != nil {
		out = append(out, gauge(descAnswer, 1, b.Namespace, b.Name, a.Answer))
	}
	if a := b.Status.Baseline; a != nil {
		out = append(out, gauge(descBaseline, 1, b.Namespace, b.Name, string(a.Outcome)))
	}
	seen := map[string]bool{}
	for i := range b.Status.Gates {
		g := &b.Status.Gates[i]
		labels := []string{b.Namespace, b.Name, g.Target, g.Node, g.Workload, g.Part, g.Variant, g.Metric, g.Limit, g.Outcome}
		if key := strings.Join(labels, "\x00"); !seen[key] {
			seen[key] = true
			out = append(out, gauge(descGate, 1, labels...))
		}
	}
	for i := range b.Status.Summary {
		row := &b.Status.Summary[i]
		key := strings.Join([]string{row.Target, row.Node, row.Workload, row.Part, row.Variant}, "\x00")
		// Two equal series would fail the whole scrape.
		if seen[key] {
			continue
		}
		seen[key] = true
		out = append(out, rowMetrics(b, row)...)
	}
	return out
}

func rowMetrics(b *v1alpha1.StorageBenchmark, row *v1alpha1.SummaryRow) []prometheus.Metric {
	var out []prometheus.Metric
	labels := func(more ...string) []string {
		return append([]string{b.Namespace, b.Name, row.Target, row.Node, row.Workload, row.Part, row.Variant}, more...)
	}
	estimate := func(metric string, e *v1alpha1.Estimate) {
		if e == nil {
			return
		}
		out = append(out, gauge(descMedian, e.Median.AsApproximateFloat64(), labels(metric)...))
		for d, bound := range map[*prometheus.Desc]*resource.Quantity{descLow: e.Low, descHigh: e.High} {
			if bound != nil {
				out = append(out, gauge(d, bound.AsApproximateFloat64(), labels(metric)...))
			}
		}
	}
	for i := range row.Operations {
		o := &row.Operations[i]
		estimate(o.Operation+".iops", o.IOPS)
		estimate(o.Operation+".rate", o.Rate)
		estimate(o.Operation+".bandwidth", o.Bandwidth)
		if l := o.Latency; l != nil {
			out = append(out,
				gauge(descMedian, l.P50.Seconds(), labels(o.Operation+".latency.p50")...),
				gauge(descMedian, l.P99.Seconds(), labels(o.Operation+".latency.p99")...),
				gauge(descMedian, l.P999.Seconds(), labels(o.Operation+".latency.p99.9")...))
		}
	}
	told := map[string]bool{}
	for _, v := range row.Verdicts {
		if key := v.Name + " " + v.Effect; !told[key] {
			told[key] = true
			out = append(out, gauge(descVerdict, 1, labels(v.Name, v.Effect)...))
		}
	}
	return out
}
