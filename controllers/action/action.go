// Package action logs and counts what the operator does to objects of the cluster: every
// create, patch and delete by its verb, with the object it was done to.
//
// In: a verb, an object and the API server's answer. Out: a line of the log, the metric
// storagebench_actions_total, and the same error. retry.go says how soon a controller tries again.
package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// total is the metric storagebench_actions_total.
var total = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "storagebench_actions_total",
	Help: "Changes that the operator has made to objects of the cluster, by action and by how it went: ok, or the API server's reason for refusing.",
}, []string{"action", "outcome"})

// Register adds the metric to the manager's registry. It may be called more than once, as
// a process may make a second manager.
func Register() error {
	err := metrics.Registry.Register(total)
	if _, known := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !known {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// Done logs and counts an action on an object. It returns err.
func Done(ctx context.Context, verb string, object client.Object, err error) error {
	outcome := "ok"
	if err != nil {
		if outcome = string(apierrors.ReasonForError(err)); outcome == "" {
			outcome = "error"
		}
	}
	total.WithLabelValues(verb, outcome).Inc()
	log := ctrl.LoggerFrom(ctx).WithValues("action", verb, "kind", fmt.Sprintf("%T", object), "object", client.ObjectKeyFromObject(object).String())
	if err != nil {
		log.Info("action refused", "outcome", outcome, "error", err.Error())
		return err
	}
	log.Info("action done")
	return nil
}
