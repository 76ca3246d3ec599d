//go:build chart

package chart

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"storagebench.io/storagebench/controllers/metrics"
)

var metricNames = regexp.MustCompile(`storagebench_[a-z_]+`)

// known are the names of the operator's own metrics.
func known(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	descriptions := make(chan *prometheus.Desc, 100)
	(&metrics.Collector{}).Describe(descriptions)
	close(descriptions)
	// Counters of other packages, and controller-runtime's own.
	for _, name := range []string{"storagebench_store_errors_total", "storagebench_actions_total"} {
		out[name] = true
	}
	for d := range descriptions {
		out[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	return out
}

func TestAlertsAreOfMetricsThatThereAre(t *testing.T) {
	runbooks, err := os.ReadFile("../../docs/reference/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	rendered := render(t, "--set", "metrics.rules=true,metrics.serviceMonitor=true,metrics.labels.release=prometheus")
	alerts, names := 0, known(t)
	for _, o := range rendered {
		if o.GetKind() != "PrometheusRule" && o.GetKind() != "ServiceMonitor" {
			continue
		}
		if o.GetLabels()["release"] != "prometheus" {
			t.Errorf("%s has labels %v", o.GetKind(), o.GetLabels())
		}
		groups, _, err := unstructured.NestedSlice(o.Object, "spec", "groups")
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range groups {
			for _, entry := range group.(map[string]any)["rules"].([]any) {
				rule := entry.(map[string]any)
				alerts++
				name := rule["alert"].(string)
				if !strings.Contains(string(runbooks), "\n## "+name+"\n") {
					t.Errorf("docs/reference/alerts.md does not say what to do about %s", name)
				}
				found := metricNames.FindAllString(rule["expr"].(string), -1)
				if len(found) == 0 && !strings.Contains(rule["expr"].(string), "controller_runtime_") {
					t.Errorf("%s is of no metric of ours: %s", rule["alert"], rule["expr"])
				}
				for _, name := range found {
					if !names[name] {
						t.Errorf("%s is of %s, which the operator does not report", rule["alert"], name)
					}
				}
				annotations, _ := rule["annotations"].(map[string]any)
				if s, _ := annotations["summary"].(string); s == "" || strings.Contains(s, "<no value>") {
					t.Errorf("%s has the summary %q", rule["alert"], s)
				}
			}
		}
	}
	if alerts != strings.Count(string(runbooks), "\n## ") {
		t.Errorf("there are %d alerts, and docs/reference/alerts.md has %d", alerts, strings.Count(string(runbooks), "\n## "))
	}
	for _, o := range render(t) {
		if strings.HasPrefix(o.GetAPIVersion(), "monitoring.coreos.com/") {
			t.Errorf("without the values, there is a %s, which a cluster may not know", o.GetKind())
		}
	}
}

// endpoint is the only one of the chart's ServiceMonitor.
func endpoint(t *testing.T, flags string) map[string]any {
	t.Helper()
	for _, o := range render(t, "--set", "metrics.serviceMonitor=true,"+flags) {
		if o.GetKind() == "ServiceMonitor" {
			endpoints, _, err := unstructured.NestedSlice(o.Object, "spec", "endpoints")
			if err != nil || len(endpoints) != 1 {
				t.Fatalf("endpoints: %v, %v", endpoints, err)
			}
			return endpoints[0].(map[string]any)
		}
	}
	t.Fatal("there is no ServiceMonitor")
	return nil
}

func TestMetricsAreScrapedWithATokenAndTheCertificateIsVerifiedIfThereIsOne(t *testing.T) {
	for flags, want := range map[string]map[string]any{
		"metrics.certSecretName=": {"insecureSkipVerify": true},
		"metrics.certSecretName=metrics-tls": {
			"serverName": "storagebench-manager-metrics." + namespace + ".svc",
			"ca":         map[string]any{"secret": map[string]any{"name": "metrics-tls", "key": "ca.crt"}},
		},
	} {
		got := endpoint(t, flags)
		if got["scheme"] != "https" || got["bearerTokenFile"] == "" || !isTrue(got["honorLabels"]) {
			t.Errorf("%s: endpoint %v", flags, got)
		}
		if diff := cmp.Diff(want, got["tlsConfig"]); diff != "" {
			t.Errorf("%s: tlsConfig (-want +got):\n%s", flags, diff)
		}
	}
	d := manager(t, render(t, "--set", "metrics.certSecretName=metrics-tls")).Spec.Template.Spec
	if !slices.Contains(d.Containers[0].Args, "--metrics-cert-dir=/etc/storagebench/metrics") ||
		len(d.Volumes) != 1 || d.Volumes[0].Secret == nil || d.Volumes[0].Secret.SecretName != "metrics-tls" ||
		len(d.Containers[0].VolumeMounts) != 1 || d.Containers[0].VolumeMounts[0].MountPath != "/etc/storagebench/metrics" {
		t.Errorf("the operator does not get its certificate: %v, %v", d.Containers[0].Args, d.Volumes)
	}
	if d := manager(t, render(t, "--set", "metrics.enabled=false,metrics.certSecretName=metrics-tls")).Spec.Template.Spec; len(d.Volumes) != 0 {
		t.Errorf("without metrics, there are the volumes %v", d.Volumes)
	}
}

func TestWhoScrapesNeedsARoleOfItsOwn(t *testing.T) {
	var chart, kustomize rbacv1.ClusterRole
	render(t).must(t, "ClusterRole", "storagebench-metrics-reader", &chart)
	decodeFile(t, "../../config/rbac/user_roles.yaml").must(t, "ClusterRole", "storagebench-metrics-reader", &kustomize)
	want := []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}
	if diff := cmp.Diff(want, chart.Rules); diff != "" {
		t.Errorf("the chart's (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, kustomize.Rules); diff != "" {
		t.Errorf("kustomize's (-want +got):\n%s", diff)
	}
}

func TestTheDashboardIsOfMetricsThatThereAre(t *testing.T) {
	var found corev1.ConfigMap
	rendered := render(t, "--set", "metrics.dashboard=true")
	rendered.in(namespace).must(t, "ConfigMap", "storagebench-dashboard", &found)
	if found.Labels["grafana_dashboard"] != "1" {
		t.Errorf("Grafana's sidecar does not find it by its labels %v", found.Labels)
	}
	var dashboard struct {
		Panels []struct {
			Type, Title string
			ID          int
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(found.Data["storagebench.json"]), &dashboard); err != nil {
		t.Fatal(err)
	}
	names, shown, ids := known(t), map[string]bool{}, map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q has the ID %d of another, or is beyond the edge: %+v", p.Title, p.ID, p.GridPos)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range metricNames.FindAllString(target.Expr, -1) {
				shown[name] = true
				if !names[name] {
					t.Errorf("panel %q is of %s, which the operator does not report", p.Title, name)
				}
			}
		}
	}
	for name := range names {
		if !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

func isTrue(value any) bool {
	is, ok := value.(bool)
	return ok && is
}
