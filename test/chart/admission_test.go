//go:build chart

package chart

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what config/ has of the chart")

// shared are the files of config/ that are the chart's objects of these kinds, rendered with
// its defaults. What tells of Helm is left out.
var shared = map[string][]string{
	"../../config/admission/policies.yaml":       {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"},
	"../../config/manager/network_policies.yaml": {"NetworkPolicy"},
	"../../config/manager/service.yaml":          {"Service/storagebench-manager-metrics"},
	"../../config/manager/pdb.yaml":              {"PodDisruptionBudget"},
	"../../config/manager/quotas.yaml":           {"ResourceQuota"},
}

func TestKustomizeHasTheSameObjects(t *testing.T) {
	rendered := render(t)
	for file, kinds := range shared {
		var want bytes.Buffer
		want.WriteString("# Rendered from the chart: go test -tags chart ./test/chart -update. DO NOT EDIT.\n")
		for _, kind := range kinds {
			for _, object := range rendered {
				if object.GetKind() != kind && object.GetKind()+"/"+object.GetName() != kind {
					continue
				}
				object.SetLabels(map[string]string{"app.kubernetes.io/name": "storagebench"})
				withoutInstance(object)
				document, err := yaml.Marshal(object.Object)
				if err != nil {
					t.Fatal(err)
				}
				want.WriteString("---\n")
				want.Write(document)
			}
		}
		if *update {
			if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), string(got)); diff != "" {
			t.Errorf("%s, run go test -tags chart ./test/chart -update (-want +got):\n%s", file, diff)
		}
	}
}

// withoutInstance removes Helm's name of the release from an object's selectors.
func withoutInstance(object *unstructured.Unstructured) {
	const instance = "app.kubernetes.io/instance"
	for _, path := range [][]string{{"podSelector", "matchLabels"}, {"selector", "matchLabels"}, {"selector"}} {
		unstructured.RemoveNestedField(object.Object, append(append([]string{"spec"}, path...), instance)...)
	}
}

func TestEveryPolicyDeniesAndIsBound(t *testing.T) {
	rendered := render(t, "--set", "fullnameOverride=other")
	var bound, policies []string
	for _, object := range rendered {
		switch object.GetKind() {
		case "ValidatingAdmissionPolicy":
			policies = append(policies, object.GetName())
			var policy admissionv1.ValidatingAdmissionPolicy
			objects{object}.must(t, object.GetKind(), object.GetName(), &policy)
			if policy.Spec.FailurePolicy == nil || *policy.Spec.FailurePolicy != admissionv1.Fail {
				t.Errorf("%s lets through what it cannot decide", policy.Name)
			}
		case "ValidatingAdmissionPolicyBinding":
			var binding admissionv1.ValidatingAdmissionPolicyBinding
			objects{object}.must(t, object.GetKind(), object.GetName(), &binding)
			if diff := cmp.Diff([]admissionv1.ValidationAction{admissionv1.Deny}, binding.Spec.ValidationActions); diff != "" {
				t.Errorf("%s (-want +got):\n%s", binding.Name, diff)
			}
			bound = append(bound, binding.Spec.PolicyName)
		}
	}
	if diff := cmp.Diff([]string{"other-benchmarks", "other-schedules", "other-scheduled", "other-size", "other-jobs", "other-objects"}, policies); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(policies, bound); diff != "" {
		t.Errorf("bound policies (-want +got):\n%s", diff)
	}
	for _, object := range render(t, "--set", "admissionPolicies.enabled=false") {
		if strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy") {
			t.Errorf("admissionPolicies.enabled=false: %s %s", object.GetKind(), object.GetName())
		}
	}
}

// variable reads what the policy of Jobs was told of the values.
func variable(t *testing.T, rendered objects, name string) (list []string) {
	t.Helper()
	var policy admissionv1.ValidatingAdmissionPolicy
	rendered.must(t, "ValidatingAdmissionPolicy", "storagebench-jobs", &policy)
	for _, v := range policy.Spec.Variables {
		if v.Name == name {
			if err := json.Unmarshal([]byte(v.Expression), &list); err != nil {
				t.Fatalf("%s: %s: %v", name, v.Expression, err)
			}
			return list
		}
	}
	t.Fatalf("the policy has no variable %s", name)
	return nil
}

func TestPoliciesAllowWhatTheOperatorIsTold(t *testing.T) {
	rendered := render(t, "--set", "image.tag=9.9,hostAccess.paths={/mnt/a/,/mnt//b}")
	if diff := cmp.Diff([]string{"storagebench.io/storagebench-worker:9.9"}, variable(t, rendered, "images")); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/mnt/a", "/mnt/b"}, variable(t, rendered, "hostPaths")); diff != "" {
		t.Errorf("hostPaths (-want +got):\n%s", diff)
	}
	other := render(t, "--set", "worker.image=example.com/worker:1,serviceAccount.name=bench")
	if diff := cmp.Diff([]string{"example.com/worker:1"}, variable(t, other, "images")); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	const user = `"system:serviceaccount:storagebench-system:bench"`
	for _, object := range other {
		// The policy of sizes is for everybody.
		if object.GetKind() != "ValidatingAdmissionPolicy" || strings.HasSuffix(object.GetName(), "-size") {
			continue
		}
		document, err := json.Marshal(object.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.ReplaceAll(string(document), `\"`, `"`), user) {
			t.Errorf("%s does not speak of the ServiceAccount bench", object.GetName())
		}
	}
}

// The operator matches devices with path.Match, and the policy with a regular expression.
func TestDevicePatternsMeanTheSameToThePolicy(t *testing.T) {
	patterns := []string{"/dev/loop*", "/dev/sd?", "/dev/nvme[0-3]n1", "/dev/vd[^a]", "/dev/disk/by-id/nvme-Lab.v2_*", "/dev/mapper/a+b(c)"}
	paths := []string{
		"/dev/loop0", "/dev/loop12", "/dev/loop", "/dev/loop-control", "/dev/loop/0", "/xdev/loop0",
		"/dev/sda", "/dev/sdab", "/dev/sd", "/dev/nvme0n1", "/dev/nvme4n1", "/dev/nvme0n1p1", "/dev/vda", "/dev/vdb",
		"/dev/disk/by-id/nvme-Lab.v2_x", "/dev/disk/by-id/nvme-LabXv2_x", "/dev/disk/by-id/nvme-Lab.v2_x/y",
		"/dev/mapper/a+b(c)", "/dev/mapper/aab(c)",
	}
	var flags []string
	for i, p := range patterns {
		flags = append(flags, "--set", "hostAccess.devices["+string(rune('0'+i))+"]="+p)
	}
	expressions := variable(t, render(t, flags...), "devices")
	if len(expressions) != len(patterns) {
		t.Fatalf("%d patterns became %d expressions: %q", len(patterns), len(expressions), expressions)
	}
	for i, pattern := range patterns {
		expression, err := regexp.Compile(expressions[i])
		if err != nil {
			t.Errorf("%s became %s: %v", pattern, expressions[i], err)
			continue
		}
		for _, p := range paths {
			want, err := path.Match(pattern, p)
			if err != nil {
				t.Fatal(err)
			}
			if got := expression.MatchString(p); got != want {
				t.Errorf("%s and %s: the policy says %v, the operator %v", pattern, p, got, want)
			}
		}
	}
}
