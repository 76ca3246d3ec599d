package action

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// After an error the same object is looked at again after 10 ms, 20 ms … 30 s. The queues'
// own default grows to 17 minutes, and the end of a refusal is an event of nobody.
const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Retries is how a controller's queue tries again what ended in an error.
func Retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}
