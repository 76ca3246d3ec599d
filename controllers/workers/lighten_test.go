package workers

import (
	"context"
	"maps"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
)

// What somebody has filled a Job with goes, so that the time of its deletion fits; what is read of it, and a finalizer, stay.
func TestAFilledJobIsMadeLighterAndDeleted(t *testing.T) {
	b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{UID: "b"}}
	read := map[string]string{jobspec.LabelManagedBy: jobspec.ManagedBy, jobspec.LabelRun: "r", jobspec.LabelWorker: "t.n1"}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "lab", Name: "j", UID: "j", Finalizers: []string{"somebody.example/hold"},
		Labels: maps.Clone(read), Annotations: map[string]string{jobspec.AnnotationComplete: "true", "somebody.example/fill": "x"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("StorageBenchmark"))},
	}}
	job.Labels["somebody.example/fill"] = "x"
	tooLarge := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "etcdserver: request is too large"}}
	w := &Workers{Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), Client: fake.NewClientBuilder().WithObjects(job).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			now := &batchv1.Job{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
				return err
			}
			if now.Labels["somebody.example/fill"]+now.Annotations["somebody.example/fill"] != "" {
				return tooLarge
			}
			return c.Delete(ctx, o, options...)
		},
	}).Build()}
	if err := w.Discard(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	after := &batchv1.Job{}
	if err := w.Get(t.Context(), types.NamespacedName{Namespace: "lab", Name: "j"}, after); err != nil {
		t.Fatal(err)
	}
	if after.DeletionTimestamp.IsZero() {
		t.Error("it is not being deleted")
	}
	if !maps.Equal(after.Labels, read) || after.Annotations[jobspec.AnnotationComplete] != "true" || len(after.Finalizers) != 1 {
		t.Errorf("left: %v, %v, %v", after.Labels, after.Annotations, after.Finalizers)
	}
}
