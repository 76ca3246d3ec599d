package workers

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	corev1 "k8s.io/api/core/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/nodes"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/trial"
)

// A Pod that only looks like a worker's is not on its way out, or takes ten years for it.
func TestWhatIsLeftOfAWorkerCountsFromWhenItWasSeen(t *testing.T) {
	start := time.Unix(1000, 0)
	for name, deleted := range map[string]*metav1.Time{
		"a Pod that nobody deletes":      nil,
		"a Pod with a grace of one year": new(metav1.NewTime(start.Add(365 * 24 * time.Hour))),
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(start)
			w := &Workers{Clock: clock}
			b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{UID: "b"}}
			seen := Seen{Pods: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted}}}}
			look := func() time.Duration {
				return w.Observe(b, trial.Worker{Name: "fast.n1", Node: "n1"}, true, seen, &nodes.View{Ready: true}).RemovedFor
			}
			if got := look(); got != 0 {
				t.Errorf("at first it is left for %s", got)
			}
			clock.SetTime(start.Add(3 * time.Minute))
			if got := look(); got != 3*time.Minute {
				t.Errorf("after 3m it is left for %s", got)
			}
			w.Forget("b")
			if got := look(); got != 0 {
				t.Errorf("when it was forgotten it is left for %s", got)
			}
		})
	}
}

// The deletion of a Job at the limit of etcd, with somebody's finalizer, is refused.
func TestAJobWhoseDeletionIsRefusedCountsAsOneThatIsBeingDeleted(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{UID: "b"}}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "lab", Name: "j", UID: "j", Annotations: map[string]string{jobspec.AnnotationComplete: "true"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("StorageBenchmark"))},
	}, Spec: batchv1.JobSpec{Suspend: new(false)}}
	answer, asked := error(&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "etcdserver: request is too large"}}), 0
	w := &Workers{Clock: clock, Client: fake.NewClientBuilder().WithObjects(job).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			asked++
			return answer
		},
	}).Build()}
	look := func() progress.Worker {
		return w.Observe(b, trial.Worker{Name: "fast.n1", Node: "n1"}, true, Seen{Job: job}, &nodes.View{Ready: true})
	}
	if err := w.Remove(t.Context(), b, "fast.n1", job); err != nil || look().Job != progress.JobDeleting {
		t.Errorf("refused: %v, %v", err, look().Job)
	}
	clock.SetTime(clock.Now().Add(askAgain))
	if look().Job != progress.JobActive {
		t.Error("it is not asked again")
	}
	const each = 2 // once more when the Job has become lighter
	if err := w.Remove(t.Context(), b, "fast.n1", job); err != nil || look().RemovedFor != askAgain || asked != 2*each {
		t.Errorf("after a minute: %v, refused for %s, asked %d times", err, look().RemovedFor, asked)
	}
	w.Forget("b")
	answer = apierrors.NewTooManyRequestsError("slow down")
	if err := w.Remove(t.Context(), b, "fast.n1", job); err == nil || look().Job != progress.JobActive {
		t.Error("what may pass was taken for a refusal")
	}
}
