//go:build chart

package chart

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kustomize builds config/default with kubectl, which is what people do it with.
func kustomize(t *testing.T) objects {
	t.Helper()
	program := os.Getenv("KUBECTL")
	if program == "" {
		var err error
		if program, err = exec.LookPath("kubectl"); err != nil {
			t.Fatal("there is no kubectl on the PATH, and KUBECTL names none: run make verify")
		}
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "kustomize", "../../config/default")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl kustomize config/default: %v\n%s", err, stderr.String())
	}
	return decode(t, bytes.NewReader(out))
}

// onlyIn are objects that one of the two ways has, and why.
var onlyIn = map[string]string{
	"Namespace /storagebench-system":                        "kustomize: helm makes it itself, with --create-namespace",
	"ClusterRole /storagebench-manager-benchmarks":          "helm: can be bound in some namespaces only; TestKustomizeGrantsTheSame adds it to the other",
	"ClusterRoleBinding /storagebench-manager-benchmarks":   "helm: as its role",
	"ClusterRole /storagebench-manager":                     "both: TestKustomizeGrantsTheSame",
	"Role storagebench-system/storagebench-manager":         "both: TestKustomizeGrantsTheSame",
	"Role storagebench-system-restore/storagebench-manager": "both: TestKustomizeGrantsTheSame",
}

// implied are arguments of the chart that say what the operator does without them.
var implied = []string{
	"--worker-image-pull-policy=IfNotPresent", "--max-timeout=24h", "--node-selector=!node-role.kubernetes.io/control-plane",
	"--worker-memory-limit=2Gi", "--max-workload-memory=4Gi", "--worker-ephemeral-storage-limit=2Gi", "--receiver-bind-address=:8443", "--metrics-bind-address=:8080",
}

// Whoever installs with kustomize gets what Helm installs by default: the same objects, with the
// same content.
func TestKustomizeRendersWhatHelmDoes(t *testing.T) {
	chart, config := comparableOf(render(t)), comparableOf(kustomize(t))
	for _, id := range slices.Sorted(maps.Keys(chart)) {
		if onlyIn[id] != "" {
			continue
		}
		if config[id] == nil {
			t.Errorf("config/default has no %s", id)
			continue
		}
		if diff := cmp.Diff(chart[id], config[id]); diff != "" {
			t.Errorf("%s (-chart +config/default):\n%s", id, diff)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(config)) {
		if chart[id] == nil && onlyIn[id] == "" {
			t.Errorf("the chart has no %s", id)
		}
	}
	for id := range onlyIn {
		if chart[id] == nil && config[id] == nil {
			t.Errorf("%s is excepted, and nobody has it", id)
		}
	}
}

// comparableOf gives objects by kind, namespace and name, without what tells of Helm or of
// kustomize alone, and without lines that say what is so without them.
func comparableOf(rendered objects) map[string]map[string]any {
	found := map[string]map[string]any{}
	for _, object := range rendered {
		withoutInstance(object)
		object.SetLabels(others(object.GetLabels(), "app.kubernetes.io/", "helm.sh/"))
		object.SetAnnotations(others(object.GetAnnotations(), "helm.sh/", "meta.helm.sh/"))
		if object.GetKind() == "Deployment" {
			plainDeployment(object)
		}
		found[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
	}
	return found
}

// others are the entries whose keys have none of these prefixes: what means something to somebody
// else than Helm.
func others(entries map[string]string, prefixes ...string) map[string]string {
	maps.DeleteFunc(entries, func(key, _ string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
	if len(entries) == 0 {
		return nil
	}
	return entries
}

func plainDeployment(object *unstructured.Unstructured) {
	template := object.Object["spec"].(map[string]any)["template"].(map[string]any)
	labels, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
	maps.DeleteFunc(labels, func(key, _ string) bool {
		return !slices.Contains([]string{"app.kubernetes.io/name", "app.kubernetes.io/component"}, key)
	})
	_ = unstructured.SetNestedStringMap(template, labels, "metadata", "labels")
	spec := template["spec"].(map[string]any)
	for _, constraint := range spec["topologySpreadConstraints"].([]any) {
		unstructured.RemoveNestedField(constraint.(map[string]any), "labelSelector", "matchLabels", "app.kubernetes.io/instance")
	}
	container := spec["containers"].([]any)[0].(map[string]any)
	if container["imagePullPolicy"] == "IfNotPresent" { // the default for a tag that is not latest
		delete(container, "imagePullPolicy")
	}
	// kustomize has the workers' image in a variable.
	workers := ""
	container["env"] = slices.DeleteFunc(container["env"].([]any), func(e any) bool {
		entry := e.(map[string]any)
		if entry["name"] == "WORKER_IMAGE" {
			workers = entry["value"].(string)
			return true
		}
		return false
	})
	var args []any
	for _, arg := range container["args"].([]any) {
		if !slices.Contains(implied, arg.(string)) {
			args = append(args, strings.ReplaceAll(arg.(string), "$(WORKER_IMAGE)", workers))
		}
	}
	container["args"] = args
}
