package metrics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"storagebench.io/storagebench/api/v1alpha1"
)

// MaxSeries bounds the series of results and verdicts.
const MaxSeries = 20_000

// scrapeTimeout bounds what a scrape waits for the cache.
const scrapeTimeout = 10 * time.Second

// World is what the metrics are computed from.
type World struct {
	Benchmarks []v1alpha1.StorageBenchmark
	Schedules  []v1alpha1.StorageBenchmarkSchedule
	Records    []v1alpha1.NodeRestore
	Stores     []v1alpha1.ResultStore
	// Leases of the operator's namespace, of which those of nodes count.
	Leases []coordinationv1.Lease
}

// Collector computes the metrics of a World that it reads at each scrape.
type Collector struct {
	Reader client.Reader
	// Most is the limit of series of results and verdicts.
	Most int

	failed atomic.Int64 // scrapes that the cache did not answer
}

// Register adds a collector to the manager's registry. It may be called more than once, as a
// process may make a second manager; the first one's cache then goes on to be read.
func Register(reader client.Reader) error {
	err := metrics.Registry.Register(&Collector{Reader: reader, Most: MaxSeries})
	if _, known := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !known {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// Describe sends the description of every metric.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range slices.Concat(descriptions, scheduleDescriptions) {
		out <- d
	}
}

// Collect reads the cache, and sends the metrics of what is there. An error of the cache is logged, and the
// scrape has no series of this collector but the count of such errors: a gap, not a zero.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	w, err := c.read(ctx)
	if err != nil {
		c.failed.Add(1)
	}
	out <- prometheus.MustNewConstMetric(descErrors, prometheus.CounterValue, float64(c.failed.Load()))
	if err != nil {
		ctrl.Log.WithName("metrics").Error(err, "this scrape has no metrics of benchmarks")
		return
	}
	for _, m := range w.metrics(c.Most) {
		out <- m
	}
}

func (c *Collector) read(ctx context.Context) (World, error) {
	var (
		benchmarks v1alpha1.StorageBenchmarkList
		schedules  v1alpha1.StorageBenchmarkScheduleList
		records    v1alpha1.NodeRestoreList
		stores     v1alpha1.ResultStoreList
		held       coordinationv1.LeaseList
	)
	// They are only read, so they need no copy.
	for _, list := range []client.ObjectList{&benchmarks, &schedules, &records, &stores, &held} {
		if err := c.Reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return World{}, err
		}
	}
	return World{Benchmarks: benchmarks.Items, Schedules: schedules.Items, Records: records.Items, Stores: stores.Items, Leases: held.Items}, nil
}
