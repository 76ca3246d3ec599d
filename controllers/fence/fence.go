// Package fence asks once, when the operator starts, whether the chart's admission policies
// hold, and says so in the log if they do not.
//
// It does not read the policies, for which it would need another permission. It dry-runs a Job
// that the operator's roles allow and its policies must refuse: one that runs another program.
// Helm creates policies last, and the API server needs some seconds to enforce them, so it
// tries several times before it logs anything.
package fence

import (
	"context"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Message is what the log says of an operator without its policies.
const Message = "the chart's admission policies are not in force: this operator's token can have any program run on any node, " +
	"and who may edit a benchmark can remove its finalizer; set admissionPolicies.enabled=true in the chart's values, or apply config/admission/policies.yaml"

// How often it asks before it says that there are no policies, and how long it waits in
// between.
const (
	tries = 6
	pause = 10 * time.Second
)

// Check is started with the manager, by the leader.
type Check struct {
	client.Client
	// Namespace in which the operator may create Jobs: that of restore Jobs.
	Namespace string
}

var _ manager.Runnable = (*Check)(nil)

// Start asks until the policies hold, or it has asked often enough. It never fails.
func (c *Check) Start(ctx context.Context) error {
	var err error // of the last try
	for try := range tries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
		}
		var holds bool
		if holds, err = c.Holds(ctx); holds {
			return nil
		}
	}
	ctrl.LoggerFrom(ctx).Error(err, Message)
	return nil
}

// Holds reports whether the API server refuses the operator a Job that is not its own kind.
func (c *Check) Holds(ctx context.Context) (bool, error) {
	err := c.Create(ctx, foreign(c.Namespace), client.DryRunAll)
	switch {
	case err == nil:
		return false, nil
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"):
		return true, nil
	}
	return false, err
}

// foreign is a Job of another program. Its name and label are those of a restore Job.
func foreign(namespace string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "restore-" + strings.Repeat("0", 32), Labels: map[string]string{"app.kubernetes.io/managed-by": "storagebench"},
		},
		Spec: batchv1.JobSpec{
			Suspend: new(true),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "foreign", Image: "example.com/not-storagebench"}},
			}},
		},
	}
}
