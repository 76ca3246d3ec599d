package workers

import (
	"context"
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/controllers/trim"
)

// lighten removes from a Job the labels and annotations that nobody reads, and reports whether it did. Whoever may write
// the Job can fill it to the limit of etcd, and then not even the time of its deletion fits. Finalizers are left: others
// rely on theirs.
func (w *Workers) lighten(ctx context.Context, job *batchv1.Job) bool {
	kept := &metav1.ObjectMeta{Labels: job.Labels, Annotations: job.Annotations}
	trim.Meta(kept)
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	patch, err := json.Marshal([]operation{
		{"test", "/metadata/uid", job.UID},
		{"add", "/metadata/labels", kept.Labels},
		{"add", "/metadata/annotations", kept.Annotations},
	})
	if err == nil {
		same := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}}
		err = w.Patch(ctx, same, client.RawPatch(types.JSONPatchType, patch))
	}
	return action.Done(ctx, "lighten", job, err) == nil
}
