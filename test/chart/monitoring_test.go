//go:build chart

package chart

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"storagebench.io/storagebench/controllers/metrics"
)

// known are the names of the operator's own metrics.
func known(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	descriptions := make(chan *prometheus.Desc, 100)
	(&metrics.Collector{}).Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		out[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	return out
}

func TestAlertsAreOfMetricsThatThereAre(t *testing.T) {
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
				found := regexp.MustCompile(`storagebench_[a-z_]+`).FindAllString(rule["expr"].(string), -1)
				if len(found) == 0 {
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
	if alerts < 6 {
		t.Errorf("%d alerts", alerts)
	}
	for _, o := range render(t) {
		if strings.HasPrefix(o.GetAPIVersion(), "monitoring.coreos.com/") {
			t.Errorf("without the values, there is a %s, which a cluster may not know", o.GetKind())
		}
	}
}
