package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"storagebench.io/storagebench/api/v1alpha1"
)

// The credentials of whoever reads a report go to the store of the run, not to another that has a
// bucket of the same name.
func TestAReportAsksTheStoreOfItsRunAlone(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	t.Setenv("AWS_ENDPOINT_URL", "")
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	store := func(name, bucket string) *v1alpha1.ResultStore {
		rs := &v1alpha1.ResultStore{ObjectMeta: metav1.ObjectMeta{Name: name}}
		rs.Spec.Bucket, rs.Spec.Endpoint = bucket, "https://"+name
		return rs
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(store("ours", "results"), store("theirs", "results"), store("moved", "elsewhere")).Build()
	run := func(name string) *v1alpha1.StorageBenchmark {
		b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "b"}}
		b.Status.Run = &v1alpha1.RunStatus{Location: "s3://results/lab/b/one", ResultStore: name}
		return b
	}
	for name, c := range map[string]struct{ endpoint, says string }{
		"ours":   {"https://ours", ""},
		"theirs": {"https://theirs", ""},
		"moved":  {"", "another place by now"},
		"gone":   {"", "cannot be read"},
	} {
		endpoint, _, err := storeOf(t.Context(), api, run(name))
		if endpoint != c.endpoint || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", name, endpoint, err)
		}
		t.Setenv("AWS_ENDPOINT_URL", "https://named")
		if endpoint, _, err = storeOf(t.Context(), api, run(name)); endpoint != c.endpoint || err != nil {
			t.Errorf("%s, with an endpoint in the environment: %q, %v", name, endpoint, err)
		}
		t.Setenv("AWS_ENDPOINT_URL", "")
	}
}
