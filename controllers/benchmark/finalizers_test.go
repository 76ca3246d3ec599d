package benchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/plan"
)

// server has one benchmark, and keeps the patch that it is sent.
type server struct {
	client.Client
	has   *v1alpha1.StorageBenchmark
	patch map[string]any
}

func (s *server) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.has.DeepCopyInto(into.(*v1alpha1.StorageBenchmark))
	return nil
}

func (s *server) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, &s.patch)
}

// The cache drops annotations, labels and finalizers of tenants. What is written drops none of them.
func TestAPatchLeavesAloneWhatTheCacheDropped(t *testing.T) {
	for _, n := range []int{0, 3, 1000} {
		has := withJobFile(3)
		has.ResourceVersion = "7"
		has.Labels, has.Annotations = map[string]string{"team": "a"}, map[string]string{"team": "a"}
		for i := range n {
			has.Finalizers = append(has.Finalizers, fmt.Sprintf("tenant.example/%d", i))
		}
		s := &server{has: has}
		r := &Reconciler{Client: s, Live: s}
		cached := stripped(t, has)
		p := &pass{StorageBenchmark: cached, before: cached.DeepCopy()}
		if _, err := r.protect(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		metadata, _ := s.patch["metadata"].(map[string]any)
		var got []string
		for _, name := range metadata["finalizers"].([]any) {
			got = append(got, name.(string))
		}
		if want := append(slices.Clone(has.Finalizers), Finalizer); !slices.Equal(got, want) {
			t.Errorf("%d finalizers of others: the patch has %d", n, len(got))
		}
		delete(metadata, "finalizers")
		delete(metadata, "resourceVersion")
		if len(metadata) > 0 || len(s.patch) > 1 {
			t.Errorf("the patch also has %v", s.patch)
		}
	}
}

func TestALongRerunStaysTheSame(t *testing.T) {
	b := withJobFile(3)
	b.Annotations = map[string]string{v1alpha1.AnnotationRerun: "a long word, and " + fmt.Sprint(make([]int, 1000))}
	b.Status.Run = &v1alpha1.RunStatus{Rerun: plan.Rerun(b)}
	cached := stripped(t, b)
	if plan.Rerun(cached) != plan.Rerun(b) || plan.Rerun(stripped(t, cached)) != plan.Rerun(b) {
		t.Error("it asks for another run in the cache")
	}
	if len(cached.Annotations[v1alpha1.AnnotationRerun]) > 100 {
		t.Error("it is kept whole")
	}
}
