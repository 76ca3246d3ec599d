//go:build integration

package admission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// document is a benchmark as a tenant writes it, with the workload and whatever else is
// given: the types of Go would shorten a quantity such as 0…01Gi.
func document(t *testing.T, name, workload string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	text := fmt.Sprintf(`{
		"apiVersion": "storagebench.io/v1alpha1", "kind": "StorageBenchmark", "metadata": {"namespace": %q, "name": %q},
		"spec": {
			"targets": [{"name": "volume", "storageClass": {"name": "fast"}}],
			"workloads": [{"name": "w", %s}],
			"results": {"storeRef": {"name": "default"}}
		}}`, plain, name, workload)
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	if change != nil {
		change(object)
	}
	return object
}

const (
	anyRead = `"fio": {"parameters": {"rw": "read"}}`
	much    = 300 << 10
)

// sizeRequests are benchmarks that would fill the operator's memory: in each, one field
// that the schema does not bound holds much.
func sizeRequests(t *testing.T) map[string]request {
	t.Helper()
	zeros := strings.Repeat("0", much)
	in := func(workload string) request {
		return create(tenantUser, document(t, "large", workload, nil), "bytes of text")
	}
	with := func(change func(*unstructured.Unstructured), refused string) request {
		return create(tenantUser, document(t, "large", anyRead, change), refused)
	}
	set := func(value any, fields ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(o.Object, value, fields...); err != nil {
				t.Error(err)
			}
		}
	}
	labels, finalizers, managers := map[string]string{}, []string{}, []metav1.ManagedFieldsEntry{}
	for i := range 17 {
		managers = append(managers, metav1.ManagedFieldsEntry{
			Manager: fmt.Sprint("manager-", i), Operation: metav1.ManagedFieldsOperationApply, APIVersion: "storagebench.io/v1alpha1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`),
		})
	}
	for i := range 3000 {
		labels[fmt.Sprintf("example.com/label-%d", i)] = "x"
		finalizers = append(finalizers, fmt.Sprintf("example.com/finalizer-%d", i))
	}
	return map[string]request{
		"a small benchmark":        create(tenantUser, document(t, "small", anyRead, nil), ""),
		"a job file of 32 KiB":     create(tenantUser, document(t, "small", `"fio": {"jobFile": "[a]\nrw=read\n`+strings.Repeat("#", 32700)+`"}`, nil), ""),
		"a parameter's long name":  in(`"fio": {"parameters": {"rw": "read", "` + zeros + `": "1"}}`),
		"a long size of bonnie":    in(`"bonnie": {"size": "` + zeros + `1Gi"}`),
		"a long size of filesync":  in(`"filesync": {"size": "` + zeros + `1Mi"}`),
		"a long size of iozone":    in(`"iozone": {"fileSizes": ["` + zeros + `1Mi"]}`),
		"a long size of postmark":  in(`"postmark": {"minSize": "` + zeros + `1"}`),
		"a long size of bandwidth": in(`"bandwidth": {"size": "` + zeros + `1Mi"}`),
		"a long size of a volume":  with(set([]any{map[string]any{"name": "volume", "storageClass": map[string]any{"name": "fast", "size": zeros + "2Gi"}}}, "spec", "targets"), "bytes of text"),
		"a long timeout":           with(set(zeros+"1h", "spec", "timeout"), "bytes of text"),
		"a long TTL":               with(set(zeros+"1h", "spec", "ttlAfterFinished"), "bytes of text"),
		"many labels":              with(func(o *unstructured.Unstructured) { o.SetLabels(labels) }, "64 labels"),
		"many annotations":         with(func(o *unstructured.Unstructured) { o.SetAnnotations(labels) }, "64 annotations"),
		"many field managers":      with(func(o *unstructured.Unstructured) { o.SetManagedFields(managers) }, "16 field managers"),
		"many finalizers":          with(func(o *unstructured.Unstructured) { o.SetFinalizers(finalizers) }, "16 finalizers"),
		"a long owner": with(func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: zeros, UID: "u"}})
		}, "ownerReferences"),
	}
}

// A sweep is two levels deeper than other fields of a workload.
func TestSweepsAreAdmittedUpToASize(t *testing.T) {
	values := `["` + strings.Repeat("1", 30) + `", "` + strings.Repeat("2", 30) + `"]`
	for name, workload := range map[string]string{
		"over values": anyRead + `, "sweep": {"over": [{"parameter": "iodepth", "values": [1, 4, "16"]}, {"parameter": "bs", "values": ["4k", "64k"]}]}`,
		"over ranges": anyRead + `, "sweep": {"over": [{"parameter": "iodepth", "range": {"from": 1, "to": 16, "factor": 2}}]}`,
		"long values": anyRead + `, "sweep": {"over": [{"parameter": "bs", "values": ` + values + `}]}`,
		"a search":    anyRead + `, "sweep": {"slo": {"metric": "read.latency.p99", "below": "2ms", "rate": {"from": 100, "to": 5000}}}`,
	} {
		if err := create(tenantUser, document(t, "swept", workload, nil), "").do(t.Context(), as[tenantUser]); err != nil {
			t.Errorf("%s: %.500v", name, err)
		}
	}
}

// The schema alone, without any policy, bounds these.
func TestSchemaBoundsJobFilesAndPlacement(t *testing.T) {
	jobs := func(n, size int) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			var workloads []any
			for i := range n {
				file := "[a]\nrw=read\n" + strings.Repeat("#", size-len("[a]\nrw=read\n"))
				workloads = append(workloads, map[string]any{"name": fmt.Sprintf("w%d", i), "fio": map[string]any{"jobFile": file}})
			}
			_ = unstructured.SetNestedSlice(o.Object, workloads, "spec", "workloads")
		}
	}
	included := func(n, size int) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			var workloads []any
			for i := range n {
				workloads = append(workloads, map[string]any{"name": fmt.Sprintf("w%d", i), "fio": map[string]any{
					"jobFile": "[a]\nrw=read\ninclude a", "include": map[string]any{"a": strings.Repeat("#", size)},
				}})
			}
			_ = unstructured.SetNestedSlice(o.Object, workloads, "spec", "workloads")
		}
	}
	placement := func(value map[string]any) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedMap(o.Object, value, "spec", "placement")
		}
	}
	long := strings.Repeat("x", 400)
	for name, c := range map[string]struct {
		change  func(*unstructured.Unstructured)
		refused string
	}{
		"128 KiB of job files":      {jobs(4, 32<<10), ""},
		"a little more":             {jobs(5, 27<<10), "128 KiB together"},
		"as much as can be":         {jobs(16, 32<<10), "128 KiB together"},
		"128 KiB of included files": {included(8, 16000), ""},
		"more included files":       {included(9, 16000), "128 KiB together"},
		"a usual selector":          {placement(map[string]any{"nodeSelector": map[string]any{"kubernetes.io/arch": "amd64"}}), ""},
		"a selector's long value":   {placement(map[string]any{"nodeSelector": map[string]any{"a": long}}), "nodeSelector is longer"},
		"a selector's long key":     {placement(map[string]any{"nodeSelector": map[string]any{long: "a"}}), "nodeSelector is longer"},
		"a usual toleration":        {placement(map[string]any{"tolerations": []any{map[string]any{"key": "a", "operator": "Exists", "effect": "NoSchedule"}}}), ""},
		"a toleration's long key":   {placement(map[string]any{"tolerations": []any{map[string]any{"key": long}}}), "toleration is longer"},
		"a toleration's long value": {placement(map[string]any{"tolerations": []any{map[string]any{"key": "a", "value": long}}}), "toleration is longer"},
	} {
		r := create(tenantUser, document(t, "bounds", anyRead, c.change), "")
		err := r.do(t.Context(), as[tenantUser])
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s: %.500v", name, err)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: got %.500v, want %s", name, err, c.refused)
		}
	}
}
