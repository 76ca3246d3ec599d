//go:build chart

package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"storagebench.io/storagebench/api/v1alpha1"
)

// Values that change what is rendered; each check below runs with all of them, and with the
// files of the chart's directory ci.
func variants() map[string][]string {
	all := map[string][]string{
		"defaults":     nil,
		"result store": {"--set", store},
		"all settings": {
			"--set", store,
			"--set", "hostAccess.paths={/mnt/a,/mnt/b},hostAccess.devices={/dev/loop*}",
			"--set", "namespaces={lab},restore.namespace=lab-restore,resultStore.secretNames={bucket-a,bucket-b}",
			"--set", "imagePullSecrets={registry},worker.image=example.com/worker:1",
			"--set", "replicas=3,developmentLog=true,priorityClassName=high",
			"--set", `limits.timeout=1h30m,limits.workloadMemory=8Gi,limits.nodeSelector=storage=lab\,!gpu,quotas.namespaces={lab}`,
			"--set", "worker.resources.limits.memory=512Mi,worker.resources.limits.ephemeral-storage=1Gi",
			"--set", "podAnnotations.a=b,podLabels.c=d,tolerations[0].operator=Exists",
		},
		"as little as there can be": {"--set", "replicas=1,metrics.enabled=false,crds.install=false,rbac.aggregate=false,receiver.enabled=false"},
		"minio":                     {"--set", "minio.enabled=true"},
		"minio with a volume":       {"--set", "minio.enabled=true,minio.persistence.enabled=true,minio.persistence.storageClass=fast,imagePullSecrets={registry}"},
	}
	files, err := filepath.Glob(chartDir + "/ci/*.yaml")
	if err != nil || len(files) == 0 {
		panic(fmt.Sprintf("no values in %s/ci (%v)", chartDir, err))
	}
	for _, file := range files {
		all[filepath.Base(file)] = []string{"--values", file}
	}
	return all
}

func TestPodsPassRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for name, flags := range variants() {
		t.Run(name, func(t *testing.T) {
			for _, d := range render(t, flags...).deployments(t) {
				pod := d.Spec.Template
				result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec))
				if !result.Allowed {
					t.Errorf("%s: %s", d.Name, result.ForbiddenDetail())
				}
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
	want := []string{
		"--worker-image=storagebench.io/storagebench-worker:9.9",
		"--worker-image-pull-policy=IfNotPresent",
		"--restore-namespace=storagebench-system-restore",
		"--max-timeout=24h",
		"--max-workload-memory=4Gi",
		"--node-selector=!node-role.kubernetes.io/control-plane",
		"--worker-memory-limit=2Gi",
		"--worker-ephemeral-storage-limit=2Gi",
		"--receiver-url=https://storagebench-receiver.storagebench-system.svc:8443",
		"--receiver-bind-address=:8443",
		"--metrics-bind-address=:8080",
	}
	if diff := cmp.Diff(want, d.Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Errorf("arguments by default (-want +got):\n%s", diff)
	}

	d = manager(t, render(t, variants()["all settings"]...))
	want = []string{
		"--worker-image=example.com/worker:1",
		"--worker-image-pull-policy=IfNotPresent",
		"--worker-image-pull-secret=registry",
		"--benchmark-namespace=lab",
		"--restore-namespace=lab-restore",
		"--max-timeout=1h30m",
		"--max-workload-memory=8Gi",
		"--node-selector=storage=lab,!gpu",
		"--worker-memory-limit=512Mi",
		"--worker-ephemeral-storage-limit=1Gi",
		"--allow-host-path=/mnt/a",
		"--allow-host-path=/mnt/b",
		"--allow-block-device=/dev/loop*",
		"--receiver-url=https://storagebench-receiver.storagebench-system.svc:8443",
		"--receiver-bind-address=:8443",
		"--metrics-bind-address=:8080",
		"--development",
	}
	if diff := cmp.Diff(want, d.Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Errorf("arguments with all settings (-want +got):\n%s", diff)
	}
}

func TestImages(t *testing.T) {
	digests := []string{"@sha256:" + strings.Repeat("a", 64), "@sha256:" + strings.Repeat("b", 64)}
	set := func(values ...string) []string { return []string{"--set-string", strings.Join(values, ",")} }
	for name, tt := range map[string]struct {
		flags                []string
		wantImage, wantWorks string
	}{
		"a mirror": {
			set("image.repository=mirror.example:5000/sb", "image.tag=9.9"),
			"mirror.example:5000/sb:9.9", "mirror.example:5000/sb-worker:9.9",
		},
		"each its own": {
			set("image.repository=a", "image.tag=1", "workerImage.repository=b", "workerImage.tag=2"),
			"a:1", "b:2",
		},
		"digests": {
			set("image.tag=1", "image.digest="+digests[0][1:], "workerImage.digest="+digests[1][1:]),
			"storagebench.io/storagebench:1" + digests[0], "storagebench.io/storagebench-worker:1" + digests[1],
		},
		"the workers' as 0.2 had it": {
			set("image.tag=1", "worker.image=example.com/worker:1", "workerImage.tag=2"),
			"storagebench.io/storagebench:1", "example.com/worker:1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rendered := render(t, tt.flags...)
			container := manager(t, rendered).Spec.Template.Spec.Containers[0]
			if container.Image != tt.wantImage || container.Args[0] != "--worker-image="+tt.wantWorks {
				t.Errorf("images %s and %s, want %s and %s", container.Image, container.Args[0], tt.wantImage, tt.wantWorks)
			}
			if diff := cmp.Diff([]string{tt.wantWorks}, variable(t, rendered, "images")); diff != "" {
				t.Errorf("what the policy allows (-want +got):\n%s", diff)
			}
		})
	}
}

// An argument that the operator does not know stops it at its start, and a flag that
// it was renamed from is found here. It reads the source, as to build it takes minutes.
func TestTheOperatorHasTheseFlags(t *testing.T) {
	var source []byte
	for _, name := range []string{"main.go", "metrics.go"} {
		text, err := os.ReadFile("../../cmd/manager/" + name)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
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

// The Secret of the receiver is there, so that the operator can fill it.
func TestNoSecretIsRendered(t *testing.T) {
	for name, flags := range variants() {
		for _, object := range render(t, flags...) {
			if object.GetKind() != "Secret" {
				continue
			}
			_, data := object.Object["data"]
			// MinIO's are generated, and in no values.
			if object.GetName() == "storagebench-minio" {
				continue
			}
			if _, text := object.Object["stringData"]; data || text || object.GetName() != "storagebench-receiver" {
				t.Errorf("%s: credentials do not belong in values: Secret %s", name, object.GetName())
			}
		}
	}
}

// The two ways to install must have workers send their results to the same place.
func TestKustomizeHasTheSameReceiver(t *testing.T) {
	generated := decodeFile(t, "../../config/manager/receiver.yaml")
	for name, o := range map[string]objects{"chart": render(t), "config/manager": generated} {
		pod := manager(t, decodeFile(t, "../../config/manager/manager.yaml")).Spec.Template
		var service corev1.Service
		var secret corev1.Secret
		o.in(namespace).must(t, "Service", "storagebench-receiver", &service)
		o.in(namespace).must(t, "Secret", "storagebench-receiver", &secret)
		if diff := cmp.Diff([]corev1.ServicePort{{Name: "receiver", Port: 8443, TargetPort: intstr.FromString("receiver")}}, service.Spec.Ports); diff != "" {
			t.Errorf("%s: ports (-want +got):\n%s", name, diff)
		}
		if name == "chart" {
			pod = manager(t, o).Spec.Template
		}
		for key, value := range service.Spec.Selector {
			if pod.Labels[key] != value {
				t.Errorf("%s: the Service selects %s=%s, and the operator's Pod has %q", name, key, value, pod.Labels[key])
			}
		}
	}
	// Keys of seals are made from what is in the Secret, with or without the receiver.
	got := render(t, "--set", "receiver.enabled=false").in(namespace)
	if got.get(t, "Service", "storagebench-receiver", &corev1.Service{}) {
		t.Error("receiver.enabled=false: its Service is rendered")
	}
	var role rbacv1.Role
	got.must(t, "Secret", "storagebench-receiver", &corev1.Secret{})
	got.must(t, "Role", "storagebench-manager", &role)
	if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Equal(r.ResourceNames, []string{"storagebench-receiver"}) && slices.Equal(r.Verbs, []string{"get", "update"})
	}) {
		t.Errorf("receiver.enabled=false: the operator may not fill the Secret: %+v", role.Rules)
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
		"the port of metrics":          {"receiver.port=8080", "port"},
		"a store without its endpoint": {"resultStore.create=true,resultStore.bucket=abc,resultStore.secretName=s", "endpoint"},
		"a digest that is none":        {"image.digest=latest", "digest"},
		"a worker's digest, too":       {"workerImage.digest=sha256:12", "digest"},
		"a worker's tag with a colon":  {"workerImage.tag=a:b", "tag"},
		"a namespace that is none":     {"namespaces={Lab}", "namespaces"},
		"a policy without its spec":    {"tunablePolicies[0].name=loops", "spec"},
		"restores by the operator":     {"restore.namespace=storagebench-system", "restore.namespace"},
		"restores among benchmarks":    {"restore.namespace=lab,namespaces={lab}", "restore.namespace"},
		"a timeout in days":            {"limits.timeout=1d", "timeout"},
		"memory without a number":      {"worker.resources.limits.memory=much", "memory"},
		"workloads of no memory":       {"limits.workloadMemory=0", "workloadMemory"},
		"a limit that there is not":    {"worker.resources.limits.cpu=1", "cpu"},
		"a port that is none":          {"networkPolicy.egressPorts={70000}", "egressPorts"},
		"a quota of less than nothing": {"quotas.benchmarks=-1", "benchmarks"},
		"a Secret that has no name":    {"resultStore.secretNames={Not A Name}", "secretNames"},
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

func TestOnlyTheNamespaceOfRestoresIsPrivileged(t *testing.T) {
	for name, tt := range map[string]struct {
		flags []string
		want  string
	}{
		"by default":      {nil, "storagebench-system-restore"},
		"one of a choice": {[]string{"--set", "restore.namespace=mending"}, "mending"},
		"made by others":  {[]string{"--set", "restore.createNamespace=false"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			for _, object := range render(t, tt.flags...) {
				if object.GetKind() == "Namespace" {
					got += object.GetName()
					if level := object.GetLabels()[api.EnforceLevelLabel]; level != "privileged" {
						t.Errorf("namespace %s has the Pod Security level %q, want privileged", object.GetName(), level)
					}
				}
			}
			if got != tt.want {
				t.Errorf("namespaces made: %q, want %q", got, tt.want)
			}
		})
	}
	levels := map[string]string{}
	for _, object := range decodeFile(t, "../../config/manager/namespace.yaml") {
		levels[object.GetName()] = object.GetLabels()[api.EnforceLevelLabel]
	}
	want := map[string]string{"storagebench-system": "restricted", "storagebench-system-restore": "privileged"}
	if diff := cmp.Diff(want, levels); diff != "" {
		t.Errorf("levels in config/manager/namespace.yaml (-want +got):\n%s", diff)
	}
}

// deployments are all of a release's.
func (o objects) deployments(t *testing.T) (found []*appsv1.Deployment) {
	t.Helper()
	for _, object := range o {
		if object.GetKind() == "Deployment" {
			d := &appsv1.Deployment{}
			objects{object}.must(t, "Deployment", object.GetName(), d)
			found = append(found, d)
		}
	}
	return found
}

func manager(t *testing.T, o objects) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	o.must(t, "Deployment", "storagebench-manager", d)
	return d
}
