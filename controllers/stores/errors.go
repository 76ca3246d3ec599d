package stores

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// failures is the metric storagebench_store_errors_total. Its labels are names of ResultStores, which
// administrators create, and the operations below.
var failures = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "storagebench_store_errors_total",
	Help: "Requests of the operator to a ResultStore that failed, by operation: check, put, get, list or sign. An object that is not there is no failure.",
}, []string{"store", "operation"})

// Register adds the metric to the manager's registry. It may be called more than once.
func Register() error {
	err := metrics.Registry.Register(failures)
	if _, known := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !known {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// counted is the bucket of a ResultStore whose failures are counted.
type counted struct {
	Bucket
	store string
}

func (c counted) count(operation string, err error) {
	if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrTooLarge) || errors.Is(err, context.Canceled) {
		return
	}
	failures.WithLabelValues(c.store, operation).Inc()
}

// Check writes, reads and deletes an object.
func (c counted) Check(ctx context.Context) error {
	err := c.Bucket.Check(ctx)
	c.count("check", err)
	return err
}

// Put stores body under key.
func (c counted) Put(ctx context.Context, key string, body []byte) error {
	err := c.Bucket.Put(ctx, key, body)
	c.count("put", err)
	return err
}

// Get returns the object's content.
func (c counted) Get(ctx context.Context, key string) ([]byte, error) {
	body, err := c.Bucket.Get(ctx, key)
	c.count("get", err)
	return body, err
}

// GetLimited returns the content of an object of at most limit bytes.
func (c counted) GetLimited(ctx context.Context, key string, limit int) ([]byte, error) {
	body, err := c.Bucket.GetLimited(ctx, key, limit)
	c.count("get", err)
	return body, err
}

// List returns the keys below prefix, at most so many.
func (c counted) List(ctx context.Context, prefix string, most int) ([]string, error) {
	keys, err := c.Bucket.List(ctx, prefix, most)
	c.count("list", err)
	return keys, err
}

// SignUploads allows uploading these objects.
func (c counted) SignUploads(ctx context.Context, limits map[string]int, valid time.Duration) (trial.Uploads, error) {
	uploads, err := c.Bucket.SignUploads(ctx, limits, valid)
	c.count("sign", err)
	return uploads, err
}

// SignGet allows reading an object.
func (c counted) SignGet(ctx context.Context, key string, valid time.Duration) (string, error) {
	url, err := c.Bucket.SignGet(ctx, key, valid)
	c.count("sign", err)
	return url, err
}
