// Package metrics tells Prometheus what benchmarks have measured and what the operator waits for.
//
// In: the benchmarks, schedules, NodeRestores, ResultStores and Leases of nodes of the manager's cache, at each scrape. Out:
// gauges, computed from them and nothing else, so that a restarted operator reports the same, and what
// was deleted is reported no longer.
//
// Whoever may write benchmarks decides how many series there are, so there is a limit (MaxSeries). The
// latest benchmark of each namespace comes first, then the second latest of each, so that one namespace with
// many does not push others out; what finds no room is counted in storagebench_series_omitted.
package metrics
