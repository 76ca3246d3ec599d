// Package result defines the documents of a run and folds a worker's trials
// into its summary.
//
// A worker writes a Trial document when each trial ends. It folds its trials
// into a WorkerSummary: headline values trial by trial, histograms merged. The
// operator (or `storagebench run`) reads only the worker summaries and folds
// them into the run's Summary: one row for each target, workload and node, with
// medians and their intervals over trials.
//
// Values are in SI base units, as in Prometheus: bytes per second, seconds.
// Metric names are <operation>.<quantity>: read.iops, write.latency.p99. Every
// document names its schema; docs/reference/results.md describes them.
//
//go:generate go run ../../hack/result-schemas -C ../.. docs/reference/schemas
package result
