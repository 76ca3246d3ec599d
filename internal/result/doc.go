// Package result holds the documents of a run and the folding of the small ones
// into the large one.
//
// A worker writes a Trial for each trial, when it ends, and a WorkerSummary that
// it folds its trials into: headline values trial by trial, histograms merged.
// The operator (or `storagebench run`) reads only the worker summaries and folds
// them into the run's Summary: one row for each target, workload and node, with
// medians and their intervals over trials.
//
// Values are in SI base units, as Prometheus has them: bytes per second, seconds.
// Metric names are <operation>.<quantity>: read.iops, write.latency.p99.
// Every document names its schema; docs/reference/results.md describes them.
//
//go:generate go run ../../hack/result-schemas -C ../.. docs/reference/schemas
package result
