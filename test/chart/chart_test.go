//go:build chart

package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"storagebench.io/storagebench/api/v1alpha1"
)

// Values that change what is rendered; each check below runs with all of them.
func variants() map[string][]string {
	return map[string][]string{
		"defaults":     nil,
		"result store": {"--set", store},
		"all settings": {
			"--set", store,
			"--set", "hostAccess.paths={/mnt/a,/mnt/b},hostAccess.devices={/dev/loop*}",
			"--set", "namespaces={lab}",
			"--set", "imagePullSecrets={registry},worker.image=example.com/worker:1",
			"--set", "replicas=2,developmentLog=true,priorityClassName=high",
			"--set", "podAnnotations.a=b,podLabels.c=d,tolerations[0].operator=Exists",
		},
		"as little as there can be": {"--set", "metrics.enabled=false,crds.install=false,rbac.aggregate=false"},
	}
}

func TestPodsPassRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for name, flags := range variants() {
		t.Run(name, func(t *testing.T) {
			pod := manager(t, render(t, flags...)).Spec.Template
			result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec))
			if !result.Allowed {
				t.Error(result.ForbiddenDetail())
			}
		})
	}
}

func TestArguments(t *testing.T) {
	const image = "storagebench.io/storagebench:9.9"
	d := manager(t, render(t, "--set", "image.tag=9.9"))
	if got := d.Spec.Template.Spec.Containers[0].Image; got != image {
		t.Errorf("the operator's image is %s, want %s", got, image)
	}
	want := []string{"--worker-image=" + image, "--worker-image-pull-policy=IfNotPresent", "--metrics-bind-address=:8080"}
	if diff := cmp.Diff(want, d.Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Errorf("arguments by default (-want +got):\n%s", diff)
	}

	d = manager(t, render(t, variants()["all settings"]...))
	want = []string{
		"--worker-image=example.com/worker:1",
		"--worker-image-pull-policy=IfNotPresent",
		"--worker-image-pull-secret=registry",
		"--benchmark-namespace=lab",
		"--allow-host-path=/mnt/a",
		"--allow-host-path=/mnt/b",
		"--allow-block-device=/dev/loop*",
		"--metrics-bind-address=:8080",
		"--development",
	}
	if diff := cmp.Diff(want, d.Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Errorf("arguments with all settings (-want +got):\n%s", diff)
	}

	d = manager(t, render(t, "--set", "image.digest=sha256:"+strings.Repeat("a", 64)))
	if got := d.Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(got, "@sha256:"+strings.Repeat("a", 64)) {
		t.Errorf("the digest is not in the image %s", got)
	}
}

// An argument that the operator does not know stops it at its start, and a flag that
// it was renamed from is found here. It reads the source, as to build it takes minutes.
func TestTheOperatorHasTheseFlags(t *testing.T) {
	source, err := os.ReadFile("../../cmd/manager/main.go")
	if err != nil {
		t.Fatal(err)
	}
	args := manager(t, render(t, variants()["all settings"]...)).Spec.Template.Spec.Containers[0].Args
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !strings.Contains(string(source), `, "`+name+`", `) {
			t.Errorf("cmd/manager has no flag --%s", name)
		}
	}
}

// The selector of a Deployment cannot be changed: an upgrade would fail.
func TestSelectorIsOfThePodAndStays(t *testing.T) {
	for name, flags := range variants() {
		d := manager(t, render(t, flags...))
		want := map[string]string{
			"app.kubernetes.io/name": "storagebench", "app.kubernetes.io/instance": "storagebench", "app.kubernetes.io/component": "manager",
		}
		if diff := cmp.Diff(want, d.Spec.Selector.MatchLabels); diff != "" {
			t.Errorf("%s: selector (-want +got):\n%s", name, diff)
		}
		for key, value := range want {
			if d.Spec.Template.Labels[key] != value {
				t.Errorf("%s: the Pod's label %s is %q", name, key, d.Spec.Template.Labels[key])
			}
		}
	}
}

func TestRulesAreThoseOfTheMarkers(t *testing.T) {
	file, err := os.Open("../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	generated := decode(t, file)
	rendered := render(t)

	var want, cluster, benchmarks rbacv1.ClusterRole
	generated.must(t, "ClusterRole", "storagebench-manager", &want)
	rendered.must(t, "ClusterRole", "storagebench-manager", &cluster)
	rendered.must(t, "ClusterRole", "storagebench-manager-benchmarks", &benchmarks)
	if diff := cmp.Diff(grants(want.Rules), grants(append(cluster.Rules, benchmarks.Rules...))); diff != "" {
		t.Errorf("ClusterRoles (-markers +chart), run make manifests:\n%s", diff)
	}
	var wantRole, gotRole rbacv1.Role
	generated.must(t, "Role", "storagebench-manager", &wantRole)
	rendered.must(t, "Role", "storagebench-manager", &gotRole)
	if diff := cmp.Diff(wantRole.Rules, gotRole.Rules); diff != "" {
		t.Errorf("Role (-markers +chart), run make manifests:\n%s", diff)
	}
}

// grants are what rules allow, one verb on one resource each.
func grants(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, verb+" "+resource+"."+group)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// Who names the namespaces of benchmarks gives the operator no right in any other.
func TestNamespacesBoundWhatTheOperatorMayDo(t *testing.T) {
	rendered := render(t, "--set", "namespaces={lab,qualify}")
	var bound []string
	for _, o := range rendered {
		switch o.GetKind() {
		case "ClusterRoleBinding":
			var binding rbacv1.ClusterRoleBinding
			objects{o}.must(t, o.GetKind(), o.GetName(), &binding)
			var role rbacv1.ClusterRole
			rendered.must(t, "ClusterRole", binding.RoleRef.Name, &role)
			for _, grant := range grants(role.Rules) {
				if _, resource, _ := strings.Cut(grant, " "); !slices.Contains([]string{
					"nodes.", "persistentvolumes.", "storageclasses.storage.k8s.io", "resultstores.storagebench.io", "resultstores/status.storagebench.io", "tunablepolicies.storagebench.io",
				}, resource) {
					t.Errorf("in the whole cluster: %s", grant)
				}
			}
		case "RoleBinding":
			var binding rbacv1.RoleBinding
			objects{o}.must(t, o.GetKind(), o.GetName(), &binding)
			if binding.RoleRef.Kind == "ClusterRole" {
				bound = append(bound, binding.Namespace+"/"+binding.RoleRef.Name)
			}
		}
	}
	want := []string{"lab/storagebench-manager-benchmarks", "qualify/storagebench-manager-benchmarks"}
	if diff := cmp.Diff(want, bound); diff != "" {
		t.Errorf("bindings in namespaces (-want +got):\n%s", diff)
	}
	args := manager(t, rendered).Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, "--benchmark-namespace=lab") || !slices.Contains(args, "--benchmark-namespace=qualify") {
		t.Errorf("the operator is not told: %v", args)
	}
}

// What would make whoever has the operator's token more than the operator.
func TestClusterRolesDoNotReachTooFar(t *testing.T) {
	for name, flags := range variants() {
		t.Run(name, func(t *testing.T) {
			for _, object := range render(t, flags...) {
				if object.GetKind() != "ClusterRole" {
					continue
				}
				var role rbacv1.ClusterRole
				objects{object}.must(t, "ClusterRole", object.GetName(), &role)
				for _, rule := range role.Rules {
					for _, line := range tooFar(rule) {
						t.Errorf("%s: %s", role.Name, line)
					}
				}
			}
		})
	}
}

func tooFar(rule rbacv1.PolicyRule) []string {
	var found []string
	for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
		if slices.Contains(list, "*") {
			found = append(found, "a * grants what nobody has thought of")
		}
	}
	if slices.Contains(rule.Resources, "secrets") && (slices.Contains(rule.Verbs, "get") || slices.Contains(rule.Verbs, "list") || slices.Contains(rule.Verbs, "watch")) {
		found = append(found, "it reads Secrets of the whole cluster")
	}
	for _, verb := range []string{"escalate", "bind", "impersonate"} {
		if slices.Contains(rule.Verbs, verb) {
			found = append(found, verb+" gives any other right")
		}
	}
	for _, resource := range []string{"pods/exec", "pods/attach", "nodes/proxy", "serviceaccounts/token"} {
		if slices.Contains(rule.Resources, resource) {
			found = append(found, resource+" gives any other right")
		}
	}
	return found
}

func TestTooFar(t *testing.T) {
	for name, rule := range map[string]rbacv1.PolicyRule{
		"reading Secrets": {Resources: []string{"configmaps", "secrets"}, Verbs: []string{"list"}},
		"a wildcard":      {Resources: []string{"*"}, Verbs: []string{"create"}},
		"exec":            {Resources: []string{"pods/exec"}, Verbs: []string{"create"}},
	} {
		if len(tooFar(rule)) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	if found := tooFar(rbacv1.PolicyRule{Resources: []string{"secrets"}, Verbs: []string{"create", "delete"}}); len(found) > 0 {
		t.Errorf("creating Secrets: %v", found)
	}
}

func TestCRDs(t *testing.T) {
	generated, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(generated) == 0 {
		t.Fatalf("no CRDs (%v)", err)
	}
	count := func(o objects, keep string) (n int) {
		for _, object := range o {
			if object.GetKind() == "CustomResourceDefinition" && object.GetAnnotations()["helm.sh/resource-policy"] == keep {
				n++
			}
		}
		return n
	}
	if n := count(render(t), "keep"); n != len(generated) {
		t.Errorf("%d CRDs are kept on uninstall, and there are %d", n, len(generated))
	}
	if n := count(render(t, "--set", "crds.keep=false"), ""); n != len(generated) {
		t.Errorf("crds.keep=false: %d CRDs, and there are %d", n, len(generated))
	}
	if n := count(render(t, "--set", "crds.install=false"), "keep"); n != 0 {
		t.Errorf("crds.install=false: %d CRDs", n)
	}
}

func TestResultStore(t *testing.T) {
	var rs v1alpha1.ResultStore
	if render(t).get(t, "ResultStore", "default", &rs) {
		t.Error("there is a ResultStore though nobody asked for one")
	}
	// The cluster does not have the kind yet: see templates/resultstore.yaml.
	render(t, "--set", store).must(t, "ResultStore", "default", &rs)
	if rs.Annotations["helm.sh/hook"] == "" {
		t.Error("on a first install it must be a hook")
	}
	if rs.Spec.SecretRef.Name != "storagebench-store" || rs.Spec.Bucket != "storagebench" || rs.Spec.Region != "us-east-1" {
		t.Errorf("spec: %+v", rs.Spec)
	}
	var later v1alpha1.ResultStore
	render(t, "--set", store, "--set", "resultStore.caBundle=PEM", "--api-versions", "storagebench.io/v1alpha1/ResultStore").must(t, "ResultStore", "default", &later)
	if later.Annotations["helm.sh/hook"] != "" {
		t.Error("where the kind is known it must belong to the release")
	}
	if string(later.Spec.CABundle) != "PEM" {
		t.Errorf("caBundle is %q", later.Spec.CABundle)
	}
}

func TestNoSecretIsRendered(t *testing.T) {
	for name, flags := range variants() {
		for _, object := range render(t, flags...) {
			if object.GetKind() == "Secret" {
				t.Errorf("%s: credentials do not belong in values: Secret %s", name, object.GetName())
			}
		}
	}
}

func TestSchemaRefusesMistakes(t *testing.T) {
	for name, tt := range map[string]struct{ set, want string }{
		"an unknown key":               {"hostaccess.paths={/mnt}", "hostaccess"},
		"an unknown key further down":  {"metrics.prot=1", "prot"},
		"a wrong type":                 {"replicas=many", "replicas"},
		"a policy that there is not":   {"image.pullPolicy=Sometimes", "pullPolicy"},
		"a path that is not absolute":  {"hostAccess.paths={mnt}", "paths"},
		"a device elsewhere":           {"hostAccess.devices={/mnt/disk}", "devices"},
		"the port of the probes":       {"metrics.port=8081", "port"},
		"a store without its endpoint": {"resultStore.create=true,resultStore.bucket=abc,resultStore.secretName=s", "endpoint"},
		"a digest that is none":        {"image.digest=latest", "digest"},
		"a namespace that is none":     {"namespaces={Lab}", "namespaces"},
		"a policy without its spec":    {"tunablePolicies[0].name=loops", "spec"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := template(t, "--set", tt.set)
			if err == nil {
				t.Fatalf("--set %s is taken", tt.set)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the message does not name %s: %v", tt.want, err)
			}
		})
	}
}

// The two ways to install must install the same.
func TestKustomizeRunsTheSamePod(t *testing.T) {
	file, err := os.Open("../../config/manager/manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	chart := manager(t, render(t)).Spec.Template.Spec
	kustomize := manager(t, decode(t, file)).Spec.Template.Spec
	// These differ on purpose: kustomize sets the image elsewhere.
	for _, pod := range []*corev1.PodSpec{&chart, &kustomize} {
		c := &pod.Containers[0]
		c.Image, c.ImagePullPolicy, c.Args = "", "", nil
		c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "WORKER_IMAGE" })
	}
	if diff := cmp.Diff(kustomize, chart); diff != "" {
		t.Errorf("Pods (-config/manager +chart):\n%s", diff)
	}
}

func manager(t *testing.T, o objects) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	o.must(t, "Deployment", "storagebench-manager", d)
	return d
}
