//go:build chart

package chart

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"storagebench.io/storagebench/api/v1alpha1"
)

// The operator must reach the store that the chart makes, read its key and nobody else's, and
// be let through by its policy.
func TestMinIOIsAWholeResultStore(t *testing.T) {
	const name = "storagebench-minio"
	rendered := render(t, "--set", "minio.enabled=true,networkPolicy.egressPorts={443},minio.image.repository=mirror.example/minio,minio.image.tag=v1")

	var store v1alpha1.ResultStore
	rendered.must(t, "ResultStore", "default", &store)
	want := v1alpha1.ResultStoreSpec{
		Endpoint: "http://storagebench-minio.storagebench-system.svc:9000", Bucket: "storagebench", Region: "us-east-1",
		SecretRef: store.Spec.SecretRef,
	}
	if diff := cmp.Diff(want, store.Spec); diff != "" || store.Spec.SecretRef.Name != name {
		t.Errorf("ResultStore with the Secret %s (-want +got):\n%s", store.Spec.SecretRef.Name, diff)
	}
	var secret corev1.Secret
	rendered.in(namespace).must(t, "Secret", name, &secret)
	for key, least := range map[string]int{"accessKeyID": 20, "secretAccessKey": 40} {
		if len(secret.Data[key]) != least {
			t.Errorf("Secret: %s has %d characters, want %d", key, len(secret.Data[key]), least)
		}
	}
	if rows := roles(t, rendered, restoreNamespace)["operator"]; rows["secrets(storagebench-store storagebench-minio)"] != "get" {
		t.Errorf("the operator may not read the Secret: %v", rows)
	}

	var service corev1.Service
	rendered.in(namespace).must(t, "Service", name, &service)
	for _, d := range rendered.deployments(t) {
		if got := labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels)); got != (d.Name == name) {
			t.Errorf("the Service selects the Pod of %s: %v", d.Name, got)
		}
		if d.Name == name {
			containers := d.Spec.Template.Spec.Containers
			if containers[0].Image != "mirror.example/minio:v1" {
				t.Errorf("the image is %s", containers[0].Image)
			}
			bucket := d.Spec.Template.Spec.InitContainers[0].Command
			if !slices.Equal(bucket, []string{"mkdir", "-p", containers[0].Args[1] + "/storagebench"}) {
				t.Errorf("%v does not make a bucket of the store %v", bucket, containers[0].Args)
			}
		}
	}
	var operator networkingv1.NetworkPolicy
	rendered.in(namespace).must(t, "NetworkPolicy", "storagebench-manager", &operator)
	if !slices.ContainsFunc(operator.Spec.Egress[1].Ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.IntVal == 9000 }) {
		t.Errorf("the operator may not connect to port 9000: %+v", operator.Spec.Egress)
	}
	var own networkingv1.NetworkPolicy
	rendered.in(namespace).must(t, "NetworkPolicy", name, &own)
	if len(own.Spec.Egress) != 0 || len(own.Spec.PolicyTypes) != 2 || len(own.Spec.Ingress) != 1 || len(own.Spec.Ingress[0].Ports) != 1 || own.Spec.Ingress[0].Ports[0].Port.IntVal != 9000 {
		t.Errorf("MinIO answers on port 9000, and connects to nobody: %+v", own.Spec)
	}
}

func TestMinIOsVolume(t *testing.T) {
	var claim corev1.PersistentVolumeClaim
	if render(t, "--set", "minio.enabled=true").get(t, "PersistentVolumeClaim", "storagebench-minio", &claim) {
		t.Error("by default it has a volume")
	}
	render(t, "--set", "minio.enabled=true,minio.persistence.enabled=true,minio.persistence.size=3Gi").must(t, "PersistentVolumeClaim", "storagebench-minio", &claim)
	if size := claim.Spec.Resources.Requests[corev1.ResourceStorage]; size.String() != "3Gi" || claim.Spec.StorageClassName != nil {
		t.Errorf("claim: %+v", claim.Spec)
	}
	if claim.Annotations["helm.sh/resource-policy"] != "keep" {
		t.Error("results go with the release")
	}
}

func TestMinIOAndAnotherStore(t *testing.T) {
	if _, err := template(t, "--set", "minio.enabled=true", "--set", store); err == nil || !strings.Contains(err.Error(), "resultStore.create") {
		t.Errorf("two ResultStores of one name: %v", err)
	}
	for _, object := range render(t) {
		if strings.Contains(object.GetName(), "minio") {
			t.Errorf("nobody asked for %s %s", object.GetKind(), object.GetName())
		}
	}
}

// Everybody who installs the chart must get a key of their own.
func TestMinIOsKeyIsMadeAnew(t *testing.T) {
	keys := map[string]bool{}
	for range 2 {
		var secret corev1.Secret
		render(t, "--set", "minio.enabled=true").must(t, "Secret", "storagebench-minio", &secret)
		keys[base64.StdEncoding.EncodeToString(secret.Data["secretAccessKey"])] = true
	}
	if len(keys) != 2 {
		t.Error("two releases have the same key")
	}
}

// What only renders the chart would make another key each time.
func TestMinIOHasAKeyThatIsThere(t *testing.T) {
	rendered := render(t, "--set", "minio.enabled=true,minio.existingSecret=bench-key")
	var secret corev1.Secret
	if rendered.get(t, "Secret", "storagebench-minio", &secret) || rendered.get(t, "Secret", "bench-key", &secret) {
		t.Error("a Secret is made beside the one that was named")
	}
	var resultStore v1alpha1.ResultStore
	rendered.must(t, "ResultStore", "default", &resultStore)
	if got := resultStore.Spec.SecretRef.Name; got != "bench-key" {
		t.Errorf("the ResultStore has the key of %s", got)
	}
	if rows := roles(t, rendered, restoreNamespace)["operator"]; rows["secrets(storagebench-store bench-key)"] != "get" {
		t.Errorf("the operator may not read the Secret: %v", rows)
	}
	for _, d := range rendered.deployments(t) {
		if d.Name != "storagebench-minio" {
			continue
		}
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef.Name != "bench-key" {
				t.Errorf("%s is from %s", e.Name, e.ValueFrom.SecretKeyRef.Name)
			}
		}
	}
}
