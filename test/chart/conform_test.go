//go:build chart

package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/controllers"
)

// clusterScoped are the kinds of the chart that have no namespace.
var clusterScoped = map[string]bool{
	"ClusterRole": true, "ClusterRoleBinding": true, "CustomResourceDefinition": true, "Namespace": true, "ResultStore": true,
	"TunablePolicy": true, "ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true,
}

// Every object is one that Kubernetes knows, without a field that it does not know or that is
// there twice. The types are those of the API server, so there are no schemas to download. What
// belongs to the Prometheus Operator has no types here.
func TestEveryObjectIsWhatKubernetesKnows(t *testing.T) {
	scheme, err := controllers.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for name, flags := range variants() {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for _, object := range render(t, flags...) {
				id := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
				if seen[id] {
					t.Errorf("%s is there twice", id)
				}
				seen[id] = true
				for _, problem := range faults(object) {
					t.Errorf("%s: %s", id, problem)
				}
				if strings.HasPrefix(object.GetAPIVersion(), "monitoring.coreos.com/") {
					continue
				}
				document, err := object.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := decoder.Decode(document, nil, nil); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
		})
	}
}

// faults are what an API server would not take in an object's metadata.
func faults(object *unstructured.Unstructured) (found []string) {
	if (object.GetNamespace() == "") != clusterScoped[object.GetKind()] {
		found = append(found, "its namespace is "+`"`+object.GetNamespace()+`"`)
	}
	for _, problem := range validation.NameIsDNSSubdomain(object.GetName(), false) {
		found = append(found, "name: "+problem)
	}
	at := field.NewPath("metadata")
	problems := metavalidation.ValidateLabels(object.GetLabels(), at.Child("labels"))
	problems = append(problems, validation.ValidateAnnotations(object.GetAnnotations(), at.Child("annotations"))...)
	for _, problem := range problems {
		found = append(found, problem.Error())
	}
	return found
}

func TestFaultsAreFound(t *testing.T) {
	for name, tt := range map[string]struct{ document, want string }{
		"a namespace of a ClusterRole": {`{"kind":"ClusterRole","metadata":{"name":"a","namespace":"b"}}`, "namespace"},
		"a Service without one":        {`{"kind":"Service","metadata":{"name":"a"}}`, "namespace"},
		"a name in capitals":           {`{"kind":"ClusterRole","metadata":{"name":"A"}}`, "name"},
		"a label that is too long":     {`{"kind":"ClusterRole","metadata":{"name":"a","labels":{"a":"` + strings.Repeat("x", 64) + `"}}}`, "labels"},
	} {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(tt.document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if found := strings.Join(faults(object), "; "); !strings.Contains(found, tt.want) {
			t.Errorf("%s: found %q", name, found)
		}
	}
}

// An upgrade with --reuse-values renders this chart with the old chart's defaults: nothing that
// is new has a value.
func TestUpgradeWithTheValuesOfOlderReleases(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "storagebench")
	if err := os.CopyFS(copied, os.DirFS(chartDir)); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile("testdata/values-0.2.0.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, "values.yaml"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	readYAML(t, "testdata/values-0.2.0.yaml", &values)
	if _, ok := values["minio"]; ok {
		t.Fatal("testdata/values-0.2.0.yaml has minio, which 0.2 did not have")
	}
	for name, flags := range map[string][]string{
		"defaults":   nil,
		"a store":    {"--set", store},
		"namespaces": {"--set", "namespaces={a}"},
	} {
		t.Run(name, func(t *testing.T) {
			rendered := renderChart(t, copied, flags...)
			d := manager(t, rendered)
			if *d.Spec.Replicas != 1 {
				t.Errorf("%d replicas, and 0.2 had 1", *d.Spec.Replicas)
			}
			if got := d.Spec.Template.Spec.Containers[0].Args[0]; !strings.HasPrefix(got, "--worker-image=storagebench.io/storagebench-worker:") {
				t.Errorf("the workers' image: %s", got)
			}
			for _, object := range rendered {
				for _, problem := range faults(object) {
					t.Errorf("%s %s: %s", object.GetKind(), object.GetName(), problem)
				}
			}
		})
	}
}

// What Artifact Hub shows is what the chart installs.
func TestArtifactHubNamesTheImages(t *testing.T) {
	var chart struct {
		Annotations map[string]string `json:"annotations"`
	}
	readYAML(t, chartDir+"/Chart.yaml", &chart)
	var images []struct{ Name, Image string }
	if err := yaml.Unmarshal([]byte(chart.Annotations["artifacthub.io/images"]), &images); err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, image := range images {
		named = append(named, image.Image)
	}
	container := manager(t, render(t)).Spec.Template.Spec.Containers[0]
	workers := strings.TrimPrefix(container.Args[0], "--worker-image=")
	if diff := cmp.Diff([]string{container.Image, workers}, named); diff != "" {
		t.Errorf("artifacthub.io/images (-want +got):\n%s", diff)
	}
	var crds, changes []struct{ Kind, Name, Description string }
	for key, list := range map[string]any{"artifacthub.io/crds": &crds, "artifacthub.io/changes": &changes} {
		if err := yaml.Unmarshal([]byte(chart.Annotations[key]), list); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	generated, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(crds) != len(generated) {
		t.Errorf("artifacthub.io/crds has %d, and the chart has %d", len(crds), len(generated))
	}
	for _, change := range changes {
		if !slices.Contains([]string{"added", "changed", "deprecated", "removed", "fixed", "security"}, change.Kind) {
			t.Errorf("artifacthub.io/changes: Artifact Hub knows no kind %q", change.Kind)
		}
	}
}

func readYAML(t *testing.T, path string, out any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(content, out)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
