package action

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// After an error, a controller reconciles the object again after 10 ms, 20 ms … 30 s. The
// default would grow to 17 minutes, and no event tells that a refusal is over.
const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Retries is the rate limiter of a controller's queue.
func Retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}
